"""A maintainer's report on a month, as plain numbers."""
