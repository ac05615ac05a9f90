"""Rules of a cache that many people share (RFC 9111): what it keeps, and who gets it again."""
