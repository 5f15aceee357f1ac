"""Rotary position embedding: pairs of a row are turned by angles that grow with the position."""
