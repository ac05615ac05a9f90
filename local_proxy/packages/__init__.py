"""Office documents that come in parts: kept as files, offered to those who show them."""
