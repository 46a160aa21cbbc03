"""Boxes: the protocol that every box keeps, its policy, and the boxes in memory."""
