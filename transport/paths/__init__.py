"""Paths: which transport a link takes, and when this machine's addresses change."""
