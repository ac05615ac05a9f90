"""Scenarios of the ImTCP paper."""
