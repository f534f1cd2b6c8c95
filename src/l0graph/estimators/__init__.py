"""scikit-learn estimators over the spine."""
