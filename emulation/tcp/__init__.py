"""Models of TCP, as virtual time has them: no sockets, no clock."""
