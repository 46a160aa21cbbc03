"""Check of a claim judge: confusion, variance, injection, and agreement with people, and the bars for each."""
