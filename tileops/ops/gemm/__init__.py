"""Matrix multiplication, a module for each kind of operand."""
