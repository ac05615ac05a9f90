"""Makes levels of pictures, at the remote."""
