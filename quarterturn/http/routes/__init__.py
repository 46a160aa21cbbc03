"""Routes, a module for each group of them."""
