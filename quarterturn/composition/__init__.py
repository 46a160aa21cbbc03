"""Composition: the services of one open home, a module for each concern.

A concern takes the lower concerns that it uses, and makes a service when it is first asked for. What all its services
need is imported above; a service that loads much more is imported when it is made, so that a verb loads what it uses.
"""
