"""Attacks on a running pair: who tries what, and whether it got through."""
