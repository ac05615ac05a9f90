"""Monitors bandwidth: estimates, and the progress they are made of. Pure."""
