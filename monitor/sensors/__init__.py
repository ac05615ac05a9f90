"""Sensors: each makes one figure of what a receiver reports. Pure."""
