"""Measures whether emulated links are what their profiles say."""
