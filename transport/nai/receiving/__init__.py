"""Messages at their receiver."""
