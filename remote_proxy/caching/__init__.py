"""Origins' answers that many devices share, as web/caching allows."""
