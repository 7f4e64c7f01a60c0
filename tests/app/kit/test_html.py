"""Templates: what a visitor wrote is text in them, and never HTML."""

import pytest
from jinja2 import UndefinedError

from app.kit.html import render


def test_a_value_is_escaped_and_html_of_another_template_is_not():
    inner = render("<b>{{ name }}</b>", name="<img src=x onerror=alert(1)>")
    assert inner == "<b>&lt;img src=x onerror=alert(1)&gt;</b>"
    assert render('<p title="{{ name }}">{{ inner }}</p>', name='"a"', inner=inner) == (
        f'<p title="&#34;a&#34;">{inner}</p>'
    )


def test_a_value_that_is_missing_is_an_error_and_not_an_empty_text():
    with pytest.raises(UndefinedError, match="name"):
        render("{{ name }}")


def test_a_dicts_method_is_not_shown_where_its_item_was_meant():
    with pytest.raises(TypeError, match="built-in method values"):
        render("{{ one.values }}", one={"values": 3})
