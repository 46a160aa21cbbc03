"""The key ring that wraps data keys, the locks that open it, and the files that hold keys."""
