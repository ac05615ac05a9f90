"""Machines that boot in namespaces: a systemd of their own, on files that somebody has prepared."""
