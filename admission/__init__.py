"""Admission: whether what has a deadline can still keep it. Pure."""
