"""Type-specific transcoders: original bytes to fidelity levels."""
