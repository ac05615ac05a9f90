"""SPP's handshake and keys: who may have a connection."""
