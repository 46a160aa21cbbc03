"""Ratings in plain files: sheets, agreement of raters, and other thresholds of claims."""
