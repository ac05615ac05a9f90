"""One device's schedule: its tree, and what plans, commands and deadlines do to it. Pure."""
