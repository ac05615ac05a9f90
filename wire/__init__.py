"""The language between the two proxies: frames, messages, skeletons, sessions. Pure."""
