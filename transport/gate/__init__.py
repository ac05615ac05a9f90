"""The gate: how much of a direction may be under way."""
