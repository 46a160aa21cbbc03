"""Verbs of `./run`: set up, demo, tests, checks, benches, images and locks of a checkout; no part of what is installed.

It works before anything is installed, like `quarterturn.launcher`, which it shares with the servers that a home adds:
standard library only, Python 3.11 or newer. Each step is printed in one line on standard error.
"""
