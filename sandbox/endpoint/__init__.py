"""Hosted endpoints: a submission that its owner runs, is sent each task, and calls the tools back from there."""

from sandbox.endpoint.address import Exceptions, Pinned, pin
from sandbox.endpoint.callbacks import Callbacks, listening
from sandbox.endpoint.hosted_agent import EndpointLauncher, public_base
from sandbox.endpoint.signature import Sender

__all__ = ["Callbacks", "EndpointLauncher", "Exceptions", "Pinned", "Sender", "listening", "pin", "public_base"]
