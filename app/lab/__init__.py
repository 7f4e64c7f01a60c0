"""The page Live lab."""
