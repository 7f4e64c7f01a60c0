"""A self-contained HTML file: styled, with charts as SVG, without scripts and without external resources."""

from collections.abc import Sequence

import pyarrow as pa
from markupsafe import Markup

from app.kit.charts import Spec
from app.kit.html import render

SHEET = """body{font:15px/1.5 system-ui,sans-serif;color:#1c2430;max-width:1200px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}table{border-collapse:collapse;margin:.6rem 0;font-size:.86rem}
th,td{border:1px solid #ccd3da;padding:.25rem .6rem;text-align:right}th:first-child,td:first-child{text-align:left}
.charts{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0}figcaption{font-weight:600}
svg{max-width:100%;height:auto}
.note{border-left:4px solid #E69F00;padding:.3rem .8rem;background:#fdf6e7}.wide{overflow-x:auto}
@media print{h2{break-after:avoid}figure,table{break-inside:avoid}}"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<title>{{ title }}</title><style>{{ sheet }}</style></head><body><h1>{{ title }}</h1>{{ body }}</body></html>"""


def page(title: str, parts: Sequence[str]) -> str:
    """The file: a title, which is escaped, and parts of HTML, which are not."""
    body = Markup("".join(parts))
    return str(render(_PAGE, title=title, policy=Markup(POLICY), sheet=Markup(SHEET), body=body))


def alone(spec: Spec, width: int) -> Spec:
    """A chart's specification with its data as plain values and a fixed width, to be drawn without a browser."""
    data = {
        name: table.to_pylist() if isinstance(table, pa.Table) else table
        for name, table in spec.get("datasets", {}).items()
    }
    return {**spec, "datasets": data, "width": width}


def svg(spec: Spec) -> str:
    """A chart of `alone` as SVG."""
    import vl_convert

    return vl_convert.vegalite_to_svg(spec)
