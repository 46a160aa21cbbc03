"""Installer behind `./run` and behind added servers; it works before anything is installed.

It makes `.venv` from hashed locks, and prints each step in one line on standard error. Standard library only, Python
3.11 or newer: nothing here may import from another package of ours, nor a package that it is there to install.
"""
