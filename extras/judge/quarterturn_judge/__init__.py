"""Check of a claim judge: known answers, injected answers, agreement with people, and a stand-in for a model."""
