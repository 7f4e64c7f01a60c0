"""Experts: simulated ones, and stored answers of trained ones."""

from l2d_core.experts.simulated import PRESETS, ExpertPreset, per_class, right_on, sample_answers

__all__ = ["PRESETS", "ExpertPreset", "per_class", "right_on", "sample_answers"]
