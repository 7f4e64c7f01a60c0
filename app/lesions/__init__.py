"""The page Skin lesions."""
