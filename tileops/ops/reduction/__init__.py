"""Reductions over axes, a module a group, and softmax."""
