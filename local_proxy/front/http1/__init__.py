"""HTTP/1.1 towards browsers."""
