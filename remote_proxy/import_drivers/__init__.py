"""Import drivers: bytes of a document to the components it needs."""
