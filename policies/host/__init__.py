"""Hosts policies: loads them, asks them in order, keeps what they command. Pure."""
