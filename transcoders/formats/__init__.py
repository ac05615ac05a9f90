"""Formats of pictures: what is in their bytes."""
