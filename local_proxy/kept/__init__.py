"""Keeps on disk what outlives a run: savings, choices, refusals."""
