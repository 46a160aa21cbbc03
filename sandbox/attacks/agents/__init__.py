"""Agents that mean harm, one a function; each is played as a submission would be, and judged from outside."""
