"""Interfaces of links and connections, and the sizes of what goes over them."""
