"""Codes texts against others that both ends have: a second visit for nearly nothing. Pure."""
