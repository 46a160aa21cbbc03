"""Drawing a draft from a grammar: pure and repeatable."""
