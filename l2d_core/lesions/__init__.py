"""The shipped system for skin lesions, and its expert network."""
