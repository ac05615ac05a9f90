"""Promises on the device: which request one may answer."""
