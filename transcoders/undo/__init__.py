"""Undoes on the device what was done to pictures for the link."""
