"""Experts: simulated ones, and stored answers of trained ones."""
