"""Emulated networks: what links do, in virtual time and over the kernel's own protocols."""
