"""The page Train."""
