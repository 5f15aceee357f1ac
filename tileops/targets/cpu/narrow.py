"""16- and 8-bit floats as integers of their width, computed in float32 and rounded as the GPU rounds."""

import ctypes
import sys
from typing import Any

from .._tilelang import tirx

__all__ = ["NARROW", "cast", "decode", "encode", "exact", "round_to", "storage", "wide"]

# type -> (storage type, suffix of the conversion functions in prelude.h)
NARROW = {
    "float16": ("uint16", "f16"),
    "bfloat16": ("uint16", "bf16"),
    "float8_e4m3fn": ("uint8", "e4m3"),
    "float8_e4m3": ("uint8", "e4m3"),
    "float8_e5m2": ("uint8", "e5m2"),
}


def wide(dtype: Any) -> str:
    """Type in which values of ``dtype`` are computed."""
    return "float32" if str(dtype) in NARROW or str(dtype) == "custom[tfloat32]" else str(dtype)


def exact(value: float, dtype: str) -> Any:
    """The constant ``value``, from its bits where the seven digits that the C backend prints are too few."""
    real = ctypes.c_float if dtype == "float32" else ctypes.c_double
    if value != value or bytes(real(float(f"{value:e}"))) == bytes(real(value)):
        return tirx.FloatImm(dtype, value)
    bits = int.from_bytes(bytes(real(abs(value))), sys.byteorder)
    size = tirx.call_pure_extern(
        dtype, f"tl_constant_{dtype}", tirx.IntImm("u" + dtype.replace("float", "int"), bits)
    )
    return size if value > 0 else tirx.FloatImm(dtype, 0.0) - size


def storage(dtype: Any) -> str:
    """Type of the array elements that hold values of ``dtype``."""
    return NARROW[str(dtype)][0] if str(dtype) in NARROW else wide(dtype)


def cast(value: Any, dtype: Any) -> Any:
    """``value`` in the type in which ``dtype`` is computed."""
    return value if str(value.dtype) == wide(dtype) else tirx.Cast(wide(dtype), value)


def decode(raw: Any, dtype: Any) -> Any:
    """The value of a stored element."""
    if str(dtype) not in NARROW:
        return raw
    return tirx.call_pure_extern("float32", "tl_from_" + NARROW[str(dtype)][1], raw)


def encode(value: Any, dtype: Any) -> Any:
    """The element that stores ``value``, rounded to ``dtype``."""
    value = cast(value, dtype)
    if str(dtype) not in NARROW:
        return value
    return tirx.call_pure_extern(storage(dtype), "tl_to_" + NARROW[str(dtype)][1], value)


def round_to(value: Any, dtype: Any) -> Any:
    """``value`` rounded to ``dtype``, still in the type in which it is computed."""
    return decode(encode(value, dtype), dtype) if str(dtype) in NARROW else cast(value, dtype)
