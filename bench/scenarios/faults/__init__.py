"""Scenarios of faults, attacks, load and endurance."""
