"""Tracking drivers: what the user does, told to policies."""
