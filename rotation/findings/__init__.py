"""Findings of detection and their reviews."""
