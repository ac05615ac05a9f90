"""Keeps what several remote proxies share: bytes by name, for a while."""
