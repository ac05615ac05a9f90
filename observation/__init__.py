"""Observation: the edges of monitor/ - the observer's daemon, and sensors on real sockets."""
