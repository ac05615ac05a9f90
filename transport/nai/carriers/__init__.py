"""Carriers of ATP's segments: TCP, SPP."""
