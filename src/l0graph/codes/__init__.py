"""X -> codes Z, one file per method."""
