"""Trainings outside the server."""
