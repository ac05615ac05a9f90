"""Pairs of proxies in benches, and the other ways to a page that they are compared with."""
