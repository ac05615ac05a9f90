"""Browsers on this machine: started with the proxy in place, or told to trust it."""
