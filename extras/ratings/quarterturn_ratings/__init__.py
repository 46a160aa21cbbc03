"""Ratings in plain files: sheets for raters, their agreement, and pass rates at other thresholds of claims."""
