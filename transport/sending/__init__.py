"""Sending: components between their sources and the link, with credit."""
