"""Office documents in parts, on the device: asked for, put together, told of."""
