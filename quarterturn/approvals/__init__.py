"""Acts that take two maintainers, and their signatures."""
