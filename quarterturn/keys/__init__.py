"""The keys of a home: its locks, changing keys, and shredding."""
