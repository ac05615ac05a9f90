"""Reports: figures, charts and films of what was measured, and their comparison."""
