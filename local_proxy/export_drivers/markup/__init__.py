"""Reads and changes a page's markup on its way to the browser."""
