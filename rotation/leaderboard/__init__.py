"""The leaderboard of a month: figures, disclosure to owners, ranks, changelog and caveats."""
