"""Scenarios of the ATP paper."""
