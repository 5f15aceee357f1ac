"""Elementwise programs: few of them, an operator is an expression. All are bound by the bytes of their tensors."""
