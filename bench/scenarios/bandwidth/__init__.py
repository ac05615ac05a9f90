"""Scenarios about what policies hear of a link's bandwidth."""
