"""Oracles of attention, a module a group: float64, from the definition."""

from tileops.reference.attention.backward import grouped_query_attention_bwd, multi_head_attention_bwd
from tileops.reference.attention.decode import (
    grouped_query_attention_decode_paged_with_kv_cache,
    grouped_query_attention_decode_with_kv_cache,
    multi_head_attention_decode_paged_with_kv_cache,
    multi_head_attention_decode_with_kv_cache,
)
from tileops.reference.attention.forward import (
    attend,
    fp8_lightning_indexer,
    grouped_query_attention,
    grouped_query_attention_dense,
    grouped_query_attention_prefill,
    grouped_query_attention_prefill_paged_with_kv_cache,
    grouped_query_attention_prefill_varlen,
    grouped_query_attention_sliding_window,
    grouped_query_attention_sliding_window_varlen,
    multi_head_attention,
)

__all__ = [
    "attend",
    "fp8_lightning_indexer",
    "grouped_query_attention",
    "grouped_query_attention_bwd",
    "grouped_query_attention_decode_paged_with_kv_cache",
    "grouped_query_attention_decode_with_kv_cache",
    "grouped_query_attention_dense",
    "grouped_query_attention_prefill",
    "grouped_query_attention_prefill_paged_with_kv_cache",
    "grouped_query_attention_prefill_varlen",
    "grouped_query_attention_sliding_window",
    "grouped_query_attention_sliding_window_varlen",
    "multi_head_attention",
    "multi_head_attention_bwd",
    "multi_head_attention_decode_paged_with_kv_cache",
    "multi_head_attention_decode_with_kv_cache",
]
