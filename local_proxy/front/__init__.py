"""The port for browsers: who is admitted, and which protocol they speak."""
