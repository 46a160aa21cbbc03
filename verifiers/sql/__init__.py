"""SQL over the normal form of a database: evaluator of SELECT with PostgreSQL's meaning, counted in steps."""
