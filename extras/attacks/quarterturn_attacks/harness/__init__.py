"""How an attack is played and judged from outside."""
