"""Lines: how fast one is, what it does to packets, and the profiles that name them. Pure."""
