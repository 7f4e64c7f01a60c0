"""Calibration of probabilities against what came true: plain arrays in, numbers and tables out."""
