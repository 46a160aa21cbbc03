"""Boxes: the protocol that every box keeps, and its policy."""
