"""Flows of TCP and RCP that share bottlenecks, packet by packet, in virtual time."""
