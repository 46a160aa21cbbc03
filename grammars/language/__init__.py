"""The language of grammar files: expressions, ranges, templates, and what is checked before a draw."""
