"""Scenarios of links, and of how the gate uses them."""
