"""``python -m l0graph``: the same as the command ``l0graph``."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="l0graph")
