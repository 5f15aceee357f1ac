"""Operators that work on each element by itself, a module a group; tensors of different shapes broadcast."""
