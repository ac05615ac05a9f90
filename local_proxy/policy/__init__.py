"""Runs policies on the device: what they hear, and what they command."""
