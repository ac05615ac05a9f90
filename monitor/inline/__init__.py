"""Inline measurement: how much more a path would carry, told by how data packets are drawn out."""
