"""The worklist: a row for each file, with a thumbnail, a badge and one sentence, of which one is open at a time."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import streamlit as st

from app.kit.looks import GREY, PARTIES
from app.lesions.verdicts import ASK, KEEP, NONE

COLORS = {ASK: PARTIES["expert"].color, KEEP: PARTIES["machine"].color, NONE: "#E69F00", "failed": GREY}


@dataclass(frozen=True)
class Row:
    """A file in the list. key: its own; kind: a key of COLORS; line: what parts it from the row above, or "".

    view: a JPEG in base64, or "" where there is none; detail: the file's name and what the machine says.
    """

    key: str
    view: str
    kind: str
    badge: str
    sentence: str
    detail: str
    notes: Sequence[str]
    line: str = ""


def draw(rows: Sequence[Row], opened: str, *, key: str, on_open: Callable[[], None]) -> None:
    """Draw the list; on_open is called when a row is chosen, by mouse or by keys. opened: the key of the open row."""
    data = {"rows": [asdict(row) for row in rows], "opened": opened, "colors": COLORS}
    _component()(key=key, data=data, height="content", on_opened_change=on_open)


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component("l2d_worklist", html=_HTML, css=_CSS, js=_SCRIPT)


_HTML = '<div role="listbox" tabindex="0" aria-label="All files; arrow keys open the next and the previous one"></div>'
_CSS = """
[role=listbox] {height: max(380px, calc(100vh - 400px)); overflow-y: auto;
  border: 1px solid var(--st-border-color); border-radius: .4rem;
  box-sizing: border-box; font-family: var(--st-font); color: var(--st-text-color); font-size: 13px;}
[role=listbox]:focus-visible {outline: 2px solid var(--st-primary-color);}
[role=option] {display: grid; grid-template-columns: 60px 1fr; gap: 0 10px; padding: 4px 8px; cursor: pointer;
  border-left: 4px solid transparent; border-bottom: 1px solid var(--st-border-color-light, rgba(128,136,146,.2));}
[role=option]:hover {background: var(--st-secondary-background-color);}
[role=option][aria-selected=true] {background: var(--st-secondary-background-color);
  border-left-color: var(--st-primary-color);}
.line {padding: 3px 10px; font-size: 12px; font-weight: 600; border-top: 3px dashed var(--st-text-color);}
img, .none {width: 60px; height: 45px; object-fit: cover; border-radius: 3px; grid-row: 1 / span 2; align-self: center;}
.none {background: repeating-linear-gradient(45deg, rgba(128,136,146,.25) 0 6px, transparent 6px 12px);}
.text {line-height: 1.25; align-self: end;}
.badge {font-weight: 700; padding: 0 7px; border-radius: 9px; color: #10151b; margin-right: 6px; white-space: nowrap;}
.small {font-size: 12px; opacity: .85; overflow-wrap: anywhere; align-self: start;}
.note {font-weight: 600;}
@media (max-width: 1000px) {[role=listbox] {height: 300px;}}
"""
# Rows are kept by key from one drawing to the next, so that the list keeps its place and its pictures.
_SCRIPT = """
const kept = new WeakMap();
const part = (name) => Object.assign(document.createElement("span"), { className: name });

function newRow(list) {
  const row = document.createElement("div");
  row.role = "option";
  const text = document.createElement("div");
  text.className = "text";
  text.append(part("badge"), part("sentence"));
  const small = document.createElement("div");
  small.className = "small";
  small.append(part("detail"), part("note"));
  row.append(document.createElement("div"), text, small);
  row.addEventListener("click", () => list.choose(row.dataset.key));
  return row;
}

function fill(row, one, colors) {
  row.dataset.key = row.id = one.key;
  row.dataset.kind = one.kind;
  const old = row.firstChild;
  if (one.view && old.dataset.view !== one.view.slice(-40)) {
    const image = document.createElement("img");
    image.src = "data:image/jpeg;base64," + one.view;
    image.alt = "";
    image.dataset.view = one.view.slice(-40);
    old.replaceWith(image);
  } else if (!one.view) old.className = "none";
  const badge = row.querySelector(".badge");
  badge.textContent = one.badge;
  badge.style.background = colors[one.kind];
  row.querySelector(".sentence").textContent = one.sentence;
  row.querySelector(".detail").textContent = one.detail;
  row.querySelector(".note").textContent = one.notes.map((note) => " · " + note).join("");
}

function mark(list, key) {
  for (const row of list.querySelectorAll("[role=option]")) {
    row.setAttribute("aria-selected", row.dataset.key === key);
    if (row.dataset.key === key) {
      list.setAttribute("aria-activedescendant", row.id);
      const above = row.offsetTop - list.offsetTop - list.scrollTop;
      if (above < 0) list.scrollTop += above;
      if (above + row.offsetHeight > list.clientHeight) list.scrollTop += above + row.offsetHeight - list.clientHeight;
    }
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  const list = parentElement.querySelector("[role=listbox]");
  const known = kept.get(list) || kept.set(list, new Map()).get(list);
  list.choose = (key) => { list.opened = key; mark(list, key); setTriggerValue("opened", key); };
  list.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (!step) return;
    event.preventDefault();
    const keys = data.rows.map((one) => one.key);
    const place = keys.indexOf(list.opened) + step;
    list.choose(keys[Math.max(0, Math.min(keys.length - 1, place))]);
  };
  const shown = [];
  for (const one of data.rows) {
    if (one.line) {
      const line = document.createElement("div");
      line.className = "line";
      line.role = "presentation";
      line.textContent = one.line;
      shown.push(line);
    }
    if (!known.has(one.key)) known.set(one.key, newRow(list));
    fill(known.get(one.key), one, data.colors);
    shown.push(known.get(one.key));
  }
  const place = list.scrollTop;
  list.replaceChildren(...shown);
  list.scrollTop = place;
  list.opened = data.opened;
  mark(list, data.opened);
}
"""
