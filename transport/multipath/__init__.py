"""One connection over several paths: what comes is asked for by R2CP, what goes is pushed."""
