"""The model of HTTP that all fronts and the core share."""
