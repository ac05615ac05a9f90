"""Benchmark scenarios, one a file."""
