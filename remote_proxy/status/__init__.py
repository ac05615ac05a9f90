"""Says how a remote proxy is to whoever watches machines: whether it serves, and its figures.

Must not know: how anything of that is done.
"""
