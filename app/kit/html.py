"""HTML from Jinja2 templates, in which every value is escaped except HTML that another template has made."""

from functools import cache

from jinja2 import Environment, StrictUndefined, Template, Undefined
from markupsafe import Markup


def _no_method(value: object) -> object:
    """The value; TypeError for a method, such as `values` of a dict where its item of that name is meant."""
    if callable(value) and not isinstance(value, Undefined):
        raise TypeError(f"a template shows {value!r}")
    return value


_ENVIRONMENT = Environment(
    autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_no_method
)


def render(template: str, **values: object) -> Markup:
    """The template with these values. A value that is `Markup`, as from `render`, is inserted as it is."""
    return Markup(_compiled(template).render(values))


@cache  # templates are constants of this program
def _compiled(template: str) -> Template:
    return _ENVIRONMENT.from_string(template)
