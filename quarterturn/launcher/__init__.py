"""Launcher behind `./run`, which works before anything is installed: standard library only, Python 3.11 or newer.

It makes `.venv` from hashed locks, and prints each step in one line on standard error. Nothing here may import from
another package of ours, nor a package that it is there to install.
"""
