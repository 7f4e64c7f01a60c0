"""Making the shipped feature banks."""
