"""Commands of sluice.py share this: settings and what is said of them, running until a signal.

Must not know: what a command does.
"""
