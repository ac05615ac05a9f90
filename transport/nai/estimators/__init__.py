"""Estimators of what a carrier takes."""
