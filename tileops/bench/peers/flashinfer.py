"""FlashInfer: serving kernels in CUDA. Decode is its paged kernel with tensor cores, on pages in order."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tileops.bench.peer import Call, Function, Peer, Unserved
from tileops.bench.peers.eager.attention import plain_scores

peer = Peer("flashinfer", module="flashinfer", distribution="flashinfer-python", compiles=True)

PAGE = 64
WORKSPACE = 256 * 2**20


def _half(tensor: Tensor) -> None:
    if tensor.dtype not in (torch.float16, torch.bfloat16):
        raise Unserved("16-bit types only")


@peer.serves("RMSNormFwdOp")
def rms_norm(call: Call) -> Function:
    from flashinfer.norm import rmsnorm

    _half(call["x"])
    call["weight"]
    if call["x"].dim() != 2 or len(call.params["normalized_shape"]) != 1:
        raise Unserved("two dimensions only")
    eps = call.params["eps"]
    return lambda x, weight: rmsnorm(x, weight, eps)


@peer.serves("FusedAddRMSNormFwdOp", writes=("x", "residual"))
def fused_add_rms_norm(call: Call) -> Function:
    from flashinfer.norm import fused_add_rmsnorm

    _half(call["x"])
    if call["x"].dim() != 2:
        raise Unserved("two dimensions only")
    eps = call.params["eps"]

    def run(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        fused_add_rmsnorm(x, residual, weight, eps)
        return x, residual

    return run


@peer.serves("SoftmaxFwdOp")
def softmax(call: Call) -> Function:
    from flashinfer.sampling import softmax

    if call["input"].dtype is not torch.float32 or call["input"].dim() != 2:
        raise Unserved("rows of float32 logits only")
    if call.params["dim"] not in (-1, 1):
        raise Unserved("only the last axis")
    return lambda x: softmax(x)


@peer.serves("SiluAndMulFwdOp")
def silu_and_mul(call: Call) -> Function:
    return _gated(call, "silu_and_mul")


@peer.serves("GeluAndMulFwdOp")
def gelu_and_mul(call: Call) -> Function:
    return _gated(call, "gelu_and_mul")


@peer.serves("GeluTanhAndMulFwdOp")
def gelu_tanh_and_mul(call: Call) -> Function:
    return _gated(call, "gelu_tanh_and_mul")


def _gated(call: Call, name: str) -> Function:
    from flashinfer import activation

    _half(call["x"])
    function = getattr(activation, name)
    return lambda x: function(x)


@functools.cache
def _workspace(device: torch.device) -> Tensor:
    return torch.zeros(WORKSPACE, dtype=torch.uint8, device=device)


@peer.serves("GroupedQueryAttentionDenseFwdOp", slow=True)
def attention(call: Call) -> Function:
    plain_scores(call)
    _half(call["q"])
    return decode(call) if call["q"].shape[1] == 1 else _prefill(call)


@peer.serves("MultiHeadAttentionDecodeWithKVCacheFwdOp", slow=True)
@peer.serves("GroupedQueryAttentionDecodeWithKVCacheFwdOp", slow=True)
def decode(call: Call) -> Function:
    """Their cache is paged, and a contiguous one is pages in order."""
    batch, length = call["k"].shape[:2]
    if length == 0 or length % PAGE:
        raise Unserved(f"whole pages of {PAGE} keys")
    table = torch.arange(batch * length // PAGE, dtype=torch.int32, device=call["k"].device)
    lengths = torch.full((batch,), length, dtype=torch.int32, device=table.device)
    run = _over_pages(call, lengths, table.view(batch, -1), PAGE)
    return lambda q, k, v, *_: run(q, k.flatten(0, 1), v.flatten(0, 1))


@peer.serves("MultiHeadAttentionDecodePagedWithKVCacheFwdOp", slow=True)
@peer.serves("GroupedQueryAttentionDecodePagedWithKVCacheFwdOp", slow=True)
def decode_paged(call: Call) -> Function:
    return _over_pages(call, call["real_seqlen_kv"], call["block_table"], call.params["page_size"])


def _over_pages(call: Call, lengths: Tensor, table: Tensor, size: int) -> Function:
    """Lengths and table are read ahead, by `plan`."""
    from flashinfer import BatchDecodeWithPagedKVCacheWrapper, BatchPrefillWithPagedKVCacheWrapper

    _half(call["q"])
    if table.numel() == 0 or int(lengths.min()) < 1:
        raise Unserved("a request has no keys")
    q, kv_heads = call["q"], call["k"].shape[-2]
    rows, heads, width = q.shape[1] if q.dim() == 4 else 1, q.shape[-2], q.shape[-1]
    counts = (lengths + size - 1) // size
    starts = F.pad(counts.cumsum(0), (1, 0)).int()
    used = table[torch.arange(table.shape[1], device=table.device) < counts[:, None]]
    pages = starts, used, (lengths - 1) % size + 1
    options = {
        "logits_soft_cap": call.params.get("softcap") or None, "sm_scale": call.params.get("sm_scale"),
        "q_data_type": q.dtype, "kv_data_type": q.dtype,
    }  # fmt: skip
    wrapper: Any
    if rows == 1:
        wrapper = BatchDecodeWithPagedKVCacheWrapper(_workspace(q.device), "NHD", use_tensor_cores=True)
        wrapper.plan(*pages, heads, kv_heads, width, size, **options)
    else:
        wrapper = BatchPrefillWithPagedKVCacheWrapper(_workspace(q.device), "NHD")
        queries = torch.arange(len(lengths) + 1, dtype=torch.int32, device=q.device) * rows
        causal = call.params.get("is_causal", False)
        wrapper.plan(queries, *pages, heads, kv_heads, width, size, causal=causal, **options)

    def run(q: Tensor, k: Tensor, v: Tensor, *_: Tensor) -> Tensor:
        out: Tensor = wrapper.run(q.view(-1, heads, width), tuple(x.unflatten(0, (-1, size)) for x in (k, v)))
        return out.view(q.shape)

    return run


def _prefill(call: Call) -> Function:
    from flashinfer import BatchPrefillWithRaggedKVCacheWrapper

    (batch, rows, heads, size), (_, length, kv_heads, _) = call["q"].shape, call["k"].shape
    device = call["q"].device
    starts = torch.arange(batch + 1, dtype=torch.int32, device=device)
    wrapper = BatchPrefillWithRaggedKVCacheWrapper(_workspace(device), "NHD")
    wrapper.plan(
        starts * rows, starts * length, heads, kv_heads, size, causal=call.params["is_causal"],
        logits_soft_cap=call.params["softcap"] or None, sm_scale=call.params["sm_scale"],
        q_data_type=call["q"].dtype, kv_data_type=call["k"].dtype,
    )  # fmt: skip

    def run(q: Tensor, k: Tensor, v: Tensor, *_: None) -> Tensor:
        out: Tensor = wrapper.run(q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1))
        return out.view(q.shape)

    return run


def _packed(call: Call) -> tuple[Tensor, Tensor]:
    """Rows as `[tokens, heads, D]`, and positions: their kernels turn queries and keys at once, in place."""
    x = call["x"]
    _half(x)
    if x.dim() != 4 or x.shape[2] < 2:
        raise Unserved("several heads only")
    return x, torch.arange(x.shape[1], dtype=torch.int32, device=x.device).repeat(x.shape[0])


def _turned(function: Function, place: Tensor, **options: float | bool | None) -> Function:
    def run(x: Tensor, *_: Tensor | None) -> Tensor:
        rows = x.view(-1, *x.shape[-2:])
        function(rows[:, :-1], rows[:, -1:], place, **options)  # the last head as the keys
        return x

    return run


@peer.serves("RopeNeoxFwdOp", writes=("x",))
def rope_neox(call: Call) -> Function:
    from flashinfer.rope import apply_rope_pos_ids_inplace

    return _turned(apply_rope_pos_ids_inplace, _packed(call)[1], rope_theta=call.params["base"])


@peer.serves("RopeNonNeoxFwdOp", writes=("x",))
def rope_non_neox(call: Call) -> Function:
    from flashinfer.rope import apply_rope_pos_ids_inplace

    place, base = _packed(call)[1], call.params["base"]
    return _turned(apply_rope_pos_ids_inplace, place, rope_theta=base, interleave=True)


@peer.serves("RopeLlama31FwdOp", writes=("x",))
def rope_llama31(call: Call) -> Function:
    from flashinfer.rope import apply_llama31_rope_pos_ids_inplace

    params = call.params
    return _turned(
        apply_llama31_rope_pos_ids_inplace,
        _packed(call)[1],
        rope_scale=params["scale_factor"],
        rope_theta=params["base"],
        low_freq_factor=params["low_freq_factor"],
        high_freq_factor=params["high_freq_factor"],
        old_context_len=params["original_max_position"],
    )


@peer.serves("RopeNeoxPositionIdsFwdOp", writes=("x",))
def rope_neox_position_ids(call: Call) -> Function:
    from flashinfer.rope import apply_rope_pos_ids_inplace

    _half(call["x"])
    if call["x"].shape[1] < 2:
        raise Unserved("several heads only")
    base, width = call.params["base"], call.params["rotary_dim"]
    return _turned(apply_rope_pos_ids_inplace, call["position_ids"].int(), rope_theta=base, rotary_dim=width)


@peer.serves("TopkSelectorFwdOp")
def topk_selector(call: Call) -> Function:
    from flashinfer import top_k

    score, count = call["index_score"], call.params["topk"]
    if score.shape[3] != 1:
        raise Unserved("one group only")
    if bool((call["starts"] > 0).any()) or bool((call["ends"] < score.shape[2]).any()):
        raise Unserved("whole rows only")

    def run(score: Tensor, *_: Tensor) -> Tensor:
        found = top_k(score.view(-1, score.shape[2]), count, sorted=True)[1]
        return found.int().view(*score.shape[:2], 1, count)

    return run


@peer.serves("GroupedQueryAttentionSlidingWindowVarlenFwdOp", slow=True)
@peer.serves("GroupedQueryAttentionPrefillVarlenFwdOp", slow=True)
@peer.serves("GroupedQueryAttentionPrefillFwdOp", slow=True)
def packed(call: Call) -> Function:
    from flashinfer import BatchPrefillWithRaggedKVCacheWrapper

    _half(call["q"])
    params = call.params
    if params.get("window_size_right", -1) >= 0 and not params["is_causal"]:
        raise Unserved("windows to the left only")
    starts, ends = (call[name] for name in call.inputs if name.startswith("cu_seqlens"))
    (_, heads, size), kv_heads = call["q"].shape, call["k"].shape[1]
    wrapper = BatchPrefillWithRaggedKVCacheWrapper(_workspace(call["q"].device), "NHD")
    wrapper.plan(
        starts, ends, heads, kv_heads, size, causal=params["is_causal"],
        window_left=params.get("window_size_left", -1), logits_soft_cap=params.get("softcap") or None,
        sm_scale=params.get("sm_scale"), q_data_type=call["q"].dtype, kv_data_type=call["k"].dtype,
    )  # fmt: skip

    def run(q: Tensor, k: Tensor, v: Tensor, *_: Tensor | None) -> Tensor:
        out: Tensor = wrapper.run(q, k, v)
        return out

    return run
