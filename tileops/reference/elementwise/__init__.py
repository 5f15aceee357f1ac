"""Oracles of the elementwise family, a module a group: float64, one formula a function."""
