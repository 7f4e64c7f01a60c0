"""Vega-Lite written out as dicts, where a page is drawn before Altair can be imported."""

from collections.abc import Mapping, Sequence
from typing import Any

Spec = dict[str, Any]


def layer(data: str | Sequence[Mapping[str, Any]], mark: str, look: Mapping[str, Any], *, where: str = "", **channels):
    """One layer: a kind of mark with a look over a named table, or over the rows given, filtered by an expression.

    channels: by name; a text is the name of a column of numbers, a number a place on the axis.
    """
    encoding = {name: _channel(name, channel) for name, channel in channels.items()}
    source = {"name": data} if isinstance(data, str) else {"values": data}
    transform = {"transform": [{"filter": where}]} if where else {}
    return {"data": source, "mark": {"type": mark, **look}, "encoding": encoding, **transform}


def quantity(field: str, **more: Any) -> Spec:
    """A column of numbers, with more of its channel's properties."""
    return {"field": field, "type": "quantitative", **more}


def tooltips(fields: Sequence[tuple[str, str, str]]) -> list[Spec]:
    """Tooltips of numbers: column, title, format."""
    return [quantity(field, title=title, format=form) for field, title, form in fields]


def _channel(name: str, channel: Any) -> Any:
    if isinstance(channel, int | float):
        return {"datum": channel}
    if isinstance(channel, str):
        return {"field": channel} if name.endswith("2") else quantity(channel)
    return channel
