"""The transmission hierarchy (HATS, 3.2.1). Pure."""
