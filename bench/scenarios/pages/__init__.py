"""Scenarios of page loads in browsers."""
