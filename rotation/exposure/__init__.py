"""Who was given which task, when and how often."""
