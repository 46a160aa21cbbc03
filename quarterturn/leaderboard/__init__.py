"""The leaderboard: scores, ranks, what is disclosed of them, and the public view."""
