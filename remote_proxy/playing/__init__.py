"""Sound and films: at which rate each is played, read from files and playlists."""
