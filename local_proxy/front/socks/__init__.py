"""SOCKS 5 towards programs that are no browsers."""
