"""Rivals that readers could use instead: each other way to a page as a peer of
bench/pairs/peers.py."""
