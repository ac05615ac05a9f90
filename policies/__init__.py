"""The policy plugin API and the built-in policies."""
