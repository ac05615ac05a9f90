"""NAI over plain TCP, as the ATP paper compares with it."""
