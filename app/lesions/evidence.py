"""Evidence for the opened case: the nearest test cases, and what in the picture moves the scores, on request."""

import io

import numpy as np
import streamlit as st
from PIL import Image

from app.lesions import neighbours, state
from app.lesions.judged import Deciding
from app.lesions.state import Case, Entry
from l2d_core.lesions.networks import to_input
from l2d_core.lesions.occlusion import occlude

NEAREST = 6
FOR, AGAINST = (230, 159, 0), (86, 180, 233)  # Okabe-Ito's orange and sky blue, apart for all eyes


def draw(by: Deciding, entry: Entry, case: Case, predicted: int, title: str) -> None:
    """Draw the evidence for a scored picture; predicted: the class that the deciding system names, title: its name."""
    st.html(neighbours.figures(by, _nearest(by, case)))
    st.caption(
        "The most similar test cases, by the one-vs-all network's features; wrong answers are underlined. "
        f"{neighbours.CREDIT}"
    )
    if st.button("What in the picture moves the scores?", icon=":material/search:", key=state.explain_key(entry.id)):
        _draw_maps(by, case, predicted, title)


def _nearest(by: Deciding, case: Case) -> list[int]:
    return by.system.bank.nearest(case.scores.features[0], NEAREST).tolist()


def _draw_maps(by: Deciding, case: Case, predicted: int, title: str) -> None:
    network, pixels = by.system.networks[by.rule.leader], np.asarray(Image.open(io.BytesIO(case.view)).convert("RGB"))
    falls = occlude(network, to_input(pixels, network.image_size))
    maps = [overlay(pixels, falls[predicted]), overlay(pixels, falls[-1])]
    st.image(maps, caption=[f"for and against {title}", "for and against asking the expert"], width=190)
    st.caption(
        "Each cell was blurred in turn. Orange: the score falls without it, so it speaks for it; blue: it rises. "
        f"The strongest cell moves the two logits by {np.abs(falls[predicted]).max():.2f} and "
        f"{np.abs(falls[-1]).max():.2f}. It shows what moves this network, not what makes a lesion malignant."
    )


def overlay(pixels: np.ndarray, falls: np.ndarray) -> np.ndarray:
    """The picture in grey, (H, W, 3) uint8, under the falls of a score (rows, columns) as colours."""
    height, width = pixels.shape[:2]
    strength = np.asarray(
        Image.fromarray((falls / max(float(np.abs(falls).max()), 1e-9)).astype(np.float32)).resize(
            (width, height), Image.Resampling.BILINEAR
        )
    )[..., None]
    grey = pixels.mean(axis=2, keepdims=True)
    colour = np.where(strength > 0, np.array(FOR), np.array(AGAINST))
    alpha = 0.75 * np.abs(strength)
    return np.clip(grey * (1 - alpha) + colour * alpha, 0, 255).astype(np.uint8)
