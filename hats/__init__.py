"""The transmission hierarchy, its schedulers and the multiplexer (HATS). Pure."""
