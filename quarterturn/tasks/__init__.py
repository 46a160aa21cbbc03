"""Tasks on their way into a set: generated, imported, reviewed, replenished."""
