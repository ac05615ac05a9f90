"""The transmission hierarchy, its schedulers, multiplexer and demultiplexer (HATS). Pure."""
