"""What detection found in a home: looks, reviews, reports and traces."""
