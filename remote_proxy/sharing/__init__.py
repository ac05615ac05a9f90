"""Tells the remotes that share a store what each of them knows of their devices."""
