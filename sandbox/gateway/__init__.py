"""The process between a hostile agent and its world."""
