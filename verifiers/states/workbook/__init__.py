"""Workbooks (.xlsx)."""
