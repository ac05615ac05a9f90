"""Workers: bounded, and shared fairly by owners."""
