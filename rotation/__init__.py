"""The month: what leaves, what enters, what is published, what looks wrong."""
