"""Positive controls, optional: each attack once more without the one control that should stop it."""
