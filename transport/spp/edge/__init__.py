"""SPP on sockets."""
