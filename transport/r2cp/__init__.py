"""Several paths that fill one stream, and whose receiver decides what comes over which."""
