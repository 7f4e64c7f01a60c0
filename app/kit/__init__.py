"""What several pages are built from."""
