"""State kind: workbooks (.xlsx)."""
