"""Scenarios of office documents."""
