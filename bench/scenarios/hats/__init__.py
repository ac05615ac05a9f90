"""Scenarios of the HATS paper."""
