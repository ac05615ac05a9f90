"""Emulated links, virtual time, scenarios and reports."""
