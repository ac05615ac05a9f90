"""Disciplines: each way in which a node of the tree chooses among its children. Pure."""
