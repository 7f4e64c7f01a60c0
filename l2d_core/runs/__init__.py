"""A run is a folder: how it is written, read, watched and listed."""
