"""HTTP/2 towards browsers (RFC 9113)."""
