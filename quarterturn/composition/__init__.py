"""The home with its rooms connected."""
