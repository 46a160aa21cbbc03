"""Display names: the names that owners choose for their agents on the leaderboard."""
