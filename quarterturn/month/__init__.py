"""The month in a home: the turn, withdrawals, and the clock that starts them."""
