"""Fitted models in files: plain arrays and JSON, nothing that can run."""

from .model import load_model, save_model

__all__ = ["load_model", "save_model"]
