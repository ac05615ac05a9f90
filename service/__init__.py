"""Lives with the machine: starts at boot, says when it is ready, goes without a trace.

`units.py` writes what systemd reads, `systemd.py` puts it in place, `notify.py` is how a running
proxy tells the service manager of itself, `removal.py` finds what Sluice has left on a machine,
`takeover.py` the pairings of a remote that ran by hand.
Must not know: what a proxy does.
"""
