"""Another kernel on this machine's own files, for what this machine's has not."""
