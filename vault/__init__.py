"""What a task is, and how it is sealed and promised."""
