"""Scenarios of a machine of its own: what people do by README's lines, from a bare Debian on."""
