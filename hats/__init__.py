"""The transmission hierarchy, its schedulers, the multiplexer and the demultiplexer (HATS). Pure."""
