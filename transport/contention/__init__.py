"""Tells a queue that others fill from one's own, and shares it with them. Pure."""
