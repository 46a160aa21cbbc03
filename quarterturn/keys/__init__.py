"""The keys of a home: its locks, changing keys, and the keys of language models."""
