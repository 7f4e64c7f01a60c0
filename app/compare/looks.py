"""How each of the systems that are compared looks: the colour of its surrogate, where that is still free."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape

from app.kit.looks import SYSTEMS, Look
from l2d_core.comparison.systems import System

# For systems whose surrogate's look is taken; all of the Okabe-Ito palette.
SPARE = (
    Look("", "#CC79A7", "diamond", (2, 2)),
    Look("", "#56B4E9", "triangle-down", (10, 4)),
    Look("", "#009E73", "cross", (4, 2, 1, 2)),
)


def of(systems: Sequence[System]) -> list[Look]:
    """A look for each of at most six systems, titled with its name; no two look alike."""
    free, looks = [*SYSTEMS.values(), *SPARE], []
    wanted = [SYSTEMS[one.test.surrogate] for one in systems]
    first = {look: place for place, look in reversed(list(enumerate(wanted)))}  # the first to want a look has it
    rest = iter(look for look in free if look not in first)
    for place, system in enumerate(systems):
        own = wanted[place]
        looks.append(replace(own if first[own] == place else next(rest), title=system.name))
    return looks


def name_of(look: Look) -> str:
    """A system's name behind its colour, as HTML."""
    return f'<span class="mark" style="background: {look.color}"></span><b>{escape(look.title)}</b>'
