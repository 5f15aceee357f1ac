"""Matrix products in PyTorch: float8 and four-bit operands are converted first."""

from __future__ import annotations

import torch
from torch import Tensor

from tileops.bench.peer import Call, Function, Unserved
from tileops.bench.peers.eager._peer import peer, tried


@peer.serves("GemmFp8FwdOp")
def gemm_fp8(call: Call) -> Function:
    dtype, whole = call.params["out_dtype"], call["scale_a"].numel() == 1

    def converted(x: Tensor, scale: Tensor) -> Tensor:
        if whole:
            return x.to(dtype)
        return (x.float() * scale.repeat_interleave(128, 1)[:, : x.shape[1]]).to(dtype)

    def run(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None) -> Tensor:
        y = converted(a, scale_a) @ converted(b, scale_b).mT
        if whole:
            y = (y * (scale_a * scale_b)).to(dtype)
        return y if bias is None else y + bias

    return run


@peer.serves("BmmFp8KNFwdOp")
def bmm_fp8_kn(call: Call) -> Function:
    dtype = call.params["out_dtype"]
    return lambda a, b, scale_a, scale_b: (torch.bmm(a.to(dtype), b.to(dtype)) * (scale_a * scale_b)).to(
        dtype
    )


@peer.serves("BmmFp8NKFwdOp")
def bmm_fp8_nk(call: Call) -> Function:
    product = bmm_fp8_kn(call)
    return lambda a, b, scale_a, scale_b: product(a, b.mT, scale_a, scale_b)


@peer.serves("GemmW4A16FwdOp")
def gemm_w4_a16(call: Call) -> Function:
    group = call.params["group_size"]

    def run(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
        q = torch.stack([packed & 15, packed >> 4], dim=-1).view(packed.shape[0], -1, group)
        weight = (q.float() - zero[..., None].float()) * scale[..., None]
        return x @ weight.flatten(1).half().mT

    return run


@peer.serves("GroupedGemmFwdOp")
def grouped_gemm(call: Call) -> Function:
    """PyTorch's own grouped product, of groups without gaps; it knows their ends."""
    if call["a"].dtype is not torch.bfloat16:
        raise Unserved("bfloat16 only")
    begins, ends = call["batch_offsets"], call["batch_offsets"] + call["batch_sizes"]
    rows = call["a"].shape[0]
    if (
        len(ends) == 0
        or torch.cat([begins, ends[-1:]]).tolist() != [0, *ends.tolist()]
        or int(ends[-1]) != rows
    ):
        raise Unserved("only groups without gaps")
    transpose_a, transpose_b = call.params["transpose_a"], call.params["transpose_b"]

    def run(a: Tensor, b: Tensor, sizes: Tensor, offsets: Tensor, _: Tensor | None) -> Tensor:
        left, right = a.mT if transpose_a else a, b.mT if transpose_b else b
        return torch._grouped_mm(left, right, offs=offsets + sizes)

    return tried(call, run)  # it takes rows of whole 16 bytes only
