"""The oracles, one module a family: each operator from its definition, in float64."""
