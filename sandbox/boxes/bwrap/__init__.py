"""The box that needs no engine: bubblewrap, control groups."""
