"""Elements of tensors: what they are in registers, how large they are, and 16-byte accesses of them."""

import torch

FLOATS = ("float16", "bfloat16", "float32")
FLUSH = {"tl.device_compile_flags": ["-ftz=true"]}  # exp2 in one instruction; results below 2^-126 are 0
UNCHECKED = {"tl.disable_safe_memory_legalize": True}  # bounds are written where memory is read and written
ITEM_SIZE = {
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("int16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "float32"), 4),
    **dict.fromkeys(("int64", "complex64"), 8),
}
_PLAIN = {torch.bool: torch.uint8, torch.complex64: torch.int64}
_WIDE = {"float32": "float4", "int64": "longlong2", **dict.fromkeys(("int8", "int16", "int32"), "int4")}


def stored(dtype: str) -> str:
    """The dtype of a tensor's elements in registers: there are no vectors of bool, nor complex numbers."""
    return {"bool": "uint8", "complex64": "int64"}.get(dtype, dtype)


def plain(x: torch.Tensor) -> torch.Tensor:
    """A tensor as programs see it: of `stored` elements."""
    return x.view(_PLAIN.get(x.dtype, x.dtype))


def vector_of(dtype: str, aligned: bool = True) -> int:
    """Elements of one access: 16 bytes, or one element."""
    return 16 // ITEM_SIZE[dtype] if aligned else 1


def wide(dtype: str, aligned: bool = True) -> tuple[str, ...]:
    """What the generated source must show: how CUDA spells 16 bytes of this dtype, where rows are aligned."""
    return (_WIDE.get(stored(dtype), "uint4"),) if aligned else ()
