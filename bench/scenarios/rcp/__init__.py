"""Scenarios of the RCP paper."""
