"""Where the remote may connect, and how it does."""
