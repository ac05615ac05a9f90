"""How much may be under way, and how fast it may go: one algorithm a file."""
