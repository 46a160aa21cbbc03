"""Store of submissions: their rows, the queue of jobs, and their traces."""
