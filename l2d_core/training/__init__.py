"""Training of whole networks."""
