"""A denser form of a file from which the very same bytes are made again."""
