"""Numba kernels: arrays in, arrays out.

A cached kernel calls only jitted functions of its own file and of those with an underscore: Numba's cache is keyed on
the caller's file alone, and a change in another file would go unseen. (The Makefile keys the cache folder on all.)
"""
