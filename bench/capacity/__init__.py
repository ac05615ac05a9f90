"""Measures what a remote and its devices cost, part by part (bench/scenarios/capacity.py)."""
