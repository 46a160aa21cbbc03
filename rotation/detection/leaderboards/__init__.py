"""Leaderboards that others run, as plain tables or as results of other tools, and the tests of them."""
