"""Office documents as zips: where their parts lie, and in which order people read them."""
