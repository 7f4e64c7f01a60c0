"""Test cases with their pictures: diagnosis, and what machine and expert said of each."""

import base64
from collections.abc import Sequence

from markupsafe import Markup

from app.kit.html import render
from app.lesions.judged import Deciding
from l2d_core.datasets.ham10000 import LICENCE
from l2d_core.evaluation.adjustment import name_classes

CREDIT = f"Pictures: HAM10000 (Tschandl, Rosendahl and Kittler 2018), {LICENCE}."
_SHEET = """
<style>
.neighbours {display: grid; grid-template-columns: repeat(auto-fill, minmax(112px, 1fr)); gap: .5rem;}
.neighbours figure {margin: 0; font-size: .74rem; line-height: 1.3;}
.neighbours img {width: 100%; border-radius: .3rem; display: block;}
.neighbours .wrong {font-weight: 700; text-decoration: underline wavy; text-decoration-thickness: 1px;}
</style>
"""
_FIGURES = """
<div class="neighbours">
{% for one in cases %}
<figure><img src="data:image/jpeg;base64,{{ one.view }}" alt="test case {{ one.id }}">
<figcaption><b>{{ one.truth }}</b><br>machine <span class="{{ one.machine_class }}">{{ one.machine }}</span>,
expert <span class="{{ one.expert_class }}">{{ one.expert }}</span></figcaption></figure>
{% endfor %}
</div>
"""


def figures(by: Deciding, rows: Sequence[int]) -> Markup:
    """The test cases at these rows of the bank's test part, as HTML; wrong answers are marked."""
    scores = by.systems.reference.scores[by.rule.leader]
    named = name_classes(scores.logits, by.rule.leader, by.systems.reference.adjustment).classes
    place_of = {str(name): place for place, name in enumerate(scores.ids)}
    gallery, names, cases = by.system.gallery, by.system.class_names, []
    for row in rows:
        place = place_of[gallery.cases["id"].iloc[row]]
        truth, answers = int(scores.labels[place]), {"machine": named[place], "expert": scores.answers[place, 0]}
        case = {
            "id": scores.ids[place],
            "truth": names[truth],
            "view": base64.b64encode(gallery.thumbnail(row)).decode(),
        }
        for who, answer in answers.items():
            case |= {who: names[int(answer)], f"{who}_class": "" if answer == truth else "wrong"}
        cases.append(case)
    return Markup(_SHEET) + render(_FIGURES, cases=cases)
