"""Handlers of the API's calls, a module for each resource."""
