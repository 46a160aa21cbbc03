"""Tests of waiting for SIGINT or SIGTERM."""

import subprocess
import sys

import pytest

TO_ANOTHER_THREAD = """
import signal, threading, time
from quarterturn.cli.setup import end_signals

def late():
    time.sleep(0.2)  # by then the main thread waits; a signal that reaches another thread does not wake it
    signal.pthread_kill(threading.get_ident(), signal.{name})
    threading.Event().wait()

with end_signals.caught() as wait:
    threading.Thread(target=late, daemon=True).start()
    wait()
print("ended")
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_that_does_not_interrupt_the_main_thread_is_not_lost(name):
    words = [sys.executable, "-c", TO_ANOTHER_THREAD.format(name=name)]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "ended\n"
