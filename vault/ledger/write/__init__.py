"""Writing the log: append, cosigning, the witness, and the check of a log folder."""
