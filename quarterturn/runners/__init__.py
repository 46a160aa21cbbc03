"""Runners: machines that play servings for this service and hold no key of it."""
