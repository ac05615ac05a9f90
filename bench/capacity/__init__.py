"""Measures what a remote and its devices cost, part by part
(bench/scenarios/faults/capacity.py)."""
