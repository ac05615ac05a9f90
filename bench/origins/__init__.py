"""Origins of benches: sites, made pages and documents, and clients that ask for them."""
