"""Jobs: each component's delivery, from the request to the last byte in the tree."""
