"""Office documents in parts, at the remote: fetched, cut, announced."""
