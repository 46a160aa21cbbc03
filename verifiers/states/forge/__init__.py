"""A forge: issues, pull requests, and the repositories behind them."""
