"""State kind: a Git forge with issues, pull requests, and the repositories behind them."""
