"""Findings of a home: scans, reviews, reports and leak traces."""
