"""Systems side by side on the same test cases, whoever trained them."""
