"""The one picture of learning to defer, in ink that suits the page's theme."""

import streamlit as st

_TEXT = (
    "A case x goes into a network with K class scores and one deferral score. Where a class score is the highest, "
    "the machine answers. Where the deferral score is the highest, the case goes to the expert, and the deferral "
    "score says how likely the expert is to be right."
)

_INK = {"light": "#1c2430", "dark": "#e8ecf1"}
_PICTURE = """
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 330" width="640" height="330" fill="none" color="INK"
     stroke="currentColor" stroke-width="1.6" font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="15">
  <style>.l2d-t {fill: currentColor; stroke: none} .l2d-s {font-size: 12.5px}</style>
  <defs><marker id="l2d-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
    <path d="M0 0 L8 4 L0 8 z" fill="currentColor" stroke="none"/></marker></defs>
  <rect x="8" y="132" width="92" height="66" rx="8"/>
  <text class="l2d-t" x="54" y="162" text-anchor="middle">a case</text>
  <text class="l2d-t" x="54" y="182" text-anchor="middle" font-style="italic">x</text>
  <path d="M100 165 H146" marker-end="url(#l2d-tip)"/>
  <rect x="150" y="112" width="112" height="106" rx="8"/>
  <text class="l2d-t" x="206" y="160" text-anchor="middle">network</text>
  <text class="l2d-t l2d-s" x="206" y="180" text-anchor="middle">K + 1 scores</text>
  <g stroke="none">
    <rect x="296" y="62" width="66" height="13" rx="3" fill="#0072B2"/>
    <rect x="296" y="84" width="30" height="13" rx="3" fill="#0072B2" opacity=".65"/>
    <rect x="296" y="106" width="17" height="13" rx="3" fill="#0072B2" opacity=".45"/>
    <rect x="296" y="232" width="88" height="13" rx="3" fill="#D55E00"/>
  </g>
  <text class="l2d-t l2d-s" x="296" y="50">K class scores</text>
  <text class="l2d-t l2d-s" x="296" y="222">deferral score</text>
  <path d="M262 145 C280 130 276 96 290 92" marker-end="url(#l2d-tip)"/>
  <path d="M262 185 C280 200 276 234 290 238" marker-end="url(#l2d-tip)"/>
  <path d="M372 92 H446" marker-end="url(#l2d-tip)"/>
  <text class="l2d-t l2d-s" x="409" y="84" text-anchor="middle">highest</text>
  <path d="M394 238 H446" marker-end="url(#l2d-tip)"/>
  <text class="l2d-t l2d-s" x="420" y="230" text-anchor="middle">highest</text>
  <rect x="450" y="58" width="182" height="68" rx="8"/>
  <text class="l2d-t" x="541" y="88" text-anchor="middle">the machine answers</text>
  <text class="l2d-t l2d-s" x="541" y="108" text-anchor="middle">the case is kept</text>
  <rect x="450" y="196" width="182" height="86" rx="8" stroke-dasharray="6 4"/>
  <text class="l2d-t" x="541" y="224" text-anchor="middle">the expert answers</text>
  <text class="l2d-t l2d-s" x="541" y="244" text-anchor="middle">the case is deferred</text>
  <text class="l2d-t l2d-s" x="541" y="266" text-anchor="middle">right with P = ?</text>
  <path d="M340 252 C360 314 470 316 541 288" marker-end="url(#l2d-tip)" stroke-dasharray="2 4"/>
  <text class="l2d-t l2d-s" x="430" y="322" text-anchor="middle">what the deferral score estimates</text>
</svg>
"""


def draw() -> None:
    """Draw the picture as wide as its column; a screen reader gets it in words."""
    st.image(_PICTURE.replace("INK", _INK[st.context.theme.type or "light"]), width="stretch", alt=_TEXT)
