"""Export drivers: components into the running application."""
