"""Throughput models of TCP: what a connection carries, from facts about its path. Pure."""
