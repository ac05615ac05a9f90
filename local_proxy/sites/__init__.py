"""Switches of sites: adapted, original, text-only, tunnel."""
