"""Where tasks come from: templates, draws, admission and review."""
