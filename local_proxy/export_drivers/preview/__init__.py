"""Office documents shown by a browser while they come, and the file itself beside them."""
