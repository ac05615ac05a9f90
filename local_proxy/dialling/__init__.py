"""Reaches a remote proxy: which it is, where it is, and over what the link goes."""
