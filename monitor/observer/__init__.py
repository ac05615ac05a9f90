"""The observer: keeps what sensors say of many connections, and estimates bandwidth. Pure."""
