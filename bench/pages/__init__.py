"""Loads of pages: how they are measured, and what one came to."""
