"""Softmax attention, a module a group of operators."""
