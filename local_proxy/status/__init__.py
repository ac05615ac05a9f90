"""The status page: what the proxy pair is doing, for people and for machines."""
