"""The client of origins."""
