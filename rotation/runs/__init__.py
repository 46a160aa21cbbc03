"""Official runs, what is opened of them, and withdrawals."""
