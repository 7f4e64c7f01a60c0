"""Making the feature banks that are shipped."""
