"""What the two proxies say to each other: frames, messages, skeletons, sessions. Pure."""
