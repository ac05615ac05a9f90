"""Browsers, screens and people before them, as benches drive and film them."""
