"""The remote proxy: on the fast side of the link."""
