"""A link as a stream of frames that outlives its connections."""
