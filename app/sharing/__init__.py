"""Links that carry a page's settings, and what a teacher adds to them."""
