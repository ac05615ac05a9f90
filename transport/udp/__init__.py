"""A link's connection over SPP."""
