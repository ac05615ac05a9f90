"""Links between ends in one process, for virtual time."""
