"""The admission gates, the evidence that they leave, and the review of drafts."""
