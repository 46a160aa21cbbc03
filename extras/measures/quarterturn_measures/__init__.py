"""Measures of public runs, their failure profile and trace page, and ratings in plain files."""
