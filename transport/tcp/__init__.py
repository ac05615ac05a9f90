"""TCP: sockets, TLS on them, connections of a link."""
