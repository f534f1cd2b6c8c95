"""Codes -> affinity -> embedding -> labels."""
