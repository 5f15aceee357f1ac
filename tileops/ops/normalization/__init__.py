"""Normalization over the last axes, over groups of channels, and over batches."""
