"""What pages draw with: charts, figures, tables and words. Pure."""
