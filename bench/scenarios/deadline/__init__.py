"""Scenarios of pages whose pictures are to be there by a time."""
