"""The export driver of browsers: pictures that are coarse first and refined in place."""
