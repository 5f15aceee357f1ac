"""Normalization programs: of rows, and of units of values that lie in several places."""

from tileops.kernels.normalization.gradient import batch_norm_gradient, batch_norm_gradient_pieces
from tileops.kernels.normalization.row_norms import layer_norm, layer_norm_long, rms_norm, rms_norm_long
from tileops.kernels.normalization.statistics import normalize_pieces, normalize_units

__all__ = [
    "batch_norm_gradient",
    "batch_norm_gradient_pieces",
    "layer_norm",
    "layer_norm_long",
    "normalize_pieces",
    "normalize_units",
    "rms_norm",
    "rms_norm_long",
]
