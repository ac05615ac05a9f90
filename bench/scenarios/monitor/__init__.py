"""Scenarios of bandwidth monitoring: cost and timeliness of sensors, errors of models."""
