"""Plug-ins of others: how they are found, and how they are switched off (docs/plugins.md)."""
