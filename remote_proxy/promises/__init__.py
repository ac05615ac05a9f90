"""Promises at the remote: what a page needs is fetched before its browser asks."""
