"""Programs of softmax attention: pieces (`macros`), the forward core (`core`), a module for each layout."""

from tileops.kernels.attention.backward import grouped_query_attention_gradient
from tileops.kernels.attention.decode import (
    grouped_query_attention_decode,
    grouped_query_attention_decode_paged,
    multi_head_attention_decode,
    multi_head_attention_decode_paged,
)
from tileops.kernels.attention.dense import (
    grouped_query_attention,
    grouped_query_attention_dense,
    grouped_query_attention_sliding_window,
)
from tileops.kernels.attention.indexing import fp8_lightning_indexer
from tileops.kernels.attention.packed import (
    grouped_query_attention_prefill,
    grouped_query_attention_prefill_varlen,
    grouped_query_attention_sliding_window_varlen,
)
from tileops.kernels.attention.paged import grouped_query_attention_prefill_paged

__all__ = [
    "fp8_lightning_indexer",
    "grouped_query_attention",
    "grouped_query_attention_decode",
    "grouped_query_attention_decode_paged",
    "grouped_query_attention_dense",
    "grouped_query_attention_gradient",
    "grouped_query_attention_prefill",
    "grouped_query_attention_prefill_paged",
    "grouped_query_attention_prefill_varlen",
    "grouped_query_attention_sliding_window",
    "grouped_query_attention_sliding_window_varlen",
    "multi_head_attention_decode",
    "multi_head_attention_decode_paged",
]
