"""Worlds: hosts joined by emulated links, in namespaces or on this machine."""
