"""Normalization programs: of rows, and of units of values that lie in several places."""

from tileops.kernels.normalization.row_norms import layer_norm, layer_norm_long, rms_norm, rms_norm_long

__all__ = ["layer_norm", "layer_norm_long", "rms_norm", "rms_norm_long"]
