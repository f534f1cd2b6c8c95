"""One file per form in which people keep data sets.

Each reader returns samples (n_samples, n_features) as stored, and a label of any type for each; `canonical` makes them
what the set is.
"""
