"""Programs of softmax attention: pieces (`macros`), the forward core (`core`), a module for each layout."""

from tileops.kernels.attention.dense import grouped_query_attention_dense

__all__ = ["grouped_query_attention_dense"]
