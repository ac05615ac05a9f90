"""Commands of the device that talk to a local proxy which runs."""
