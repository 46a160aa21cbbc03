"""Writing the log: append, cosigning, the witness, and checks of the folder."""
