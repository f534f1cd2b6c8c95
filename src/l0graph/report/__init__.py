"""A fit as one HTML file to look at."""

from .write import write_report

__all__ = ["write_report"]
