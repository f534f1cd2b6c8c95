"""Plain, slow, dense versions of the methods, written from the paper's formulas alone."""
