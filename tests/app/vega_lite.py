"""Whether a chart is one that Vega-Lite takes, by the schema that comes with Altair."""

from functools import cache
from urllib.parse import quote

import altair as alt
import jsonschema_rs


def assert_valid(spec):
    """Raise where a specification is none. Its data and its config, which may hold settings of Vega, are left out."""
    _schema().validate({key: part for key, part in spec.items() if key not in ("config", "datasets")})


@cache
def _schema():
    return jsonschema_rs.validator_for(_escaped(alt.load_schema()))


def _escaped(part):
    """The schema with names of definitions such as `A<B>` as a reference must have them."""
    if isinstance(part, dict):
        return {key: f"#{quote(one[1:])}" if key == "$ref" else _escaped(one) for key, one in part.items()}
    return [_escaped(one) for one in part] if isinstance(part, list) else part
