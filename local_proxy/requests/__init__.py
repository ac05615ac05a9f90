"""A browser's request: what it is for, and where its answer comes from."""
