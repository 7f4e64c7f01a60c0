"""A visitor without a browser: one session of Streamlit's protocol, that opens pages, moves, presses and uploads."""

import asyncio
import json
import urllib.request
import uuid
from dataclasses import dataclass, field
from urllib.parse import urlparse

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.BidiComponent_pb2 import BidiComponent
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

COOKIE = "_streamlit_xsrf"
FINISHED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


@dataclass(frozen=True)
class Slider:
    """A slider on the page, as the server described it. fragment: the part of the page that it draws anew, or "".

    put: where the server put it, against what the visitor last did, or None where it left it. row, rows: of a slider of
    a class, its name, and the values of all that are sent together.
    """

    id: str
    low: float
    high: float
    default: float
    step: float = 1.0
    fragment: str = ""
    put: float | None = None
    row: str = ""
    rows: tuple[tuple[str, float], ...] = ()


@dataclass
class Answer:
    """What one run of the page sent: its sliders, the content of its charts by place, its errors and its size.

    buttons, uploaders: id and fragment by label. texts: what is written on it. fragments: of all that came.
    """

    sliders: dict[str, Slider] = field(default_factory=dict)
    charts: dict[tuple[int, ...], bytes] = field(default_factory=dict)
    buttons: dict[str, tuple[str, str]] = field(default_factory=dict)
    uploaders: dict[str, tuple[str, str]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    num_bytes: int = 0

    def take(self, message: ForwardMsg) -> None:
        """Note what matters of one message."""
        self.num_bytes += message.ByteSize()
        if message.WhichOneof("type") != "delta" or message.delta.WhichOneof("type") != "new_element":
            return
        element, fragment = message.delta.new_element, message.delta.fragment_id
        kind = element.WhichOneof("type")
        if kind == "slider":
            one = element.slider
            put = one.value[0] if one.set_value and one.value else None
            self.sliders[one.label] = Slider(one.id, one.min, one.max, one.default[0], one.step, fragment, put)
        elif kind == "bidi_component":
            self.sliders |= _class_sliders(element.bidi_component, fragment)
        elif kind == "vega_lite_chart":
            self.charts[tuple(message.metadata.delta_path)] = element.vega_lite_chart.SerializeToString()
        elif kind in ("button", "file_uploader"):
            one = getattr(element, kind)
            (self.buttons if kind == "button" else self.uploaders)[one.label] = (one.id, fragment)
        elif (problem := error_in(element)) is not None:
            self.errors.append(problem)
        self.texts += _text_of(element)

    def join(self, later: "Answer") -> None:
        """Add what a later run, of a part of the page, has sent."""
        for name in ("sliders", "charts", "buttons", "uploaders"):
            getattr(self, name).update(getattr(later, name))
        self.texts, self.errors, self.num_bytes = later.texts, later.errors, later.num_bytes


def error_in(element: Element) -> str | None:
    """The text of an exception or an error that the page shows, or None."""
    kind = element.WhichOneof("type")
    if kind == "exception":
        return f"{element.exception.type}: {element.exception.message}"
    if kind == "alert" and element.alert.format == element.alert.ERROR:
        return element.alert.body
    return None


def _text_of(element: Element) -> list[str]:
    kind = element.WhichOneof("type") or ""
    where = {"code": "code_text"} | dict.fromkeys(("markdown", "heading", "text", "alert", "html"), "body")
    return [getattr(getattr(element, kind), where[kind])] if kind in where else []


class Session:
    """One connection. It remembers the state of each widget, and sends all of them each time, as a browser does.

    It keeps no cache of messages, as browsers do for large ones, so that the server sends each in full. heard: is
    called with each message as it came, in bytes. page: the path of the page that it is on.
    """

    def __init__(self, connection: ClientConnection, url: str, page: str, query: str = "", cookie: str = "") -> None:
        self._connection, self._url, self.page, self._query, self._cookie = connection, url, page, query, cookie
        self._script_hash, self._pages, self._id = "", {}, ""
        self._states: dict[str, WidgetState] = {}
        self._moved: dict[str, float] = {}
        self.heard = lambda data: None

    @classmethod
    async def open(cls, url: str, page: str, query: str = "") -> "Session":
        """Connect to the server at http://HOST:PORT; `page` is the path of the page, without the slash."""
        cookie = await asyncio.to_thread(_fetch_cookie, url)
        stream = f"ws://{urlparse(url).netloc}/_stcore/stream"
        headers = {"Cookie": f"{COOKIE}={cookie}", "Origin": url}
        protocols = [Subprotocol(name) for name in ("streamlit", cookie or "none")]
        connection = await connect(stream, subprotocols=protocols, additional_headers=headers, max_size=None)
        return cls(connection, url, page, query, cookie)

    def value_of(self, slider: Slider) -> float:
        """Where the slider stands now."""
        return self._moved.get(slider.id, slider.default) if slider.put is None else slider.put

    async def run(self, moved: dict[Slider, float] | None = None) -> Answer:
        """Move sliders (or just open the page), and wait until the run that this starts is over."""
        fragment = ""
        for slider, value in (moved or {}).items():
            self._moved[slider.id], fragment = value, slider.fragment
            self._states[slider.id] = _state(slider, value)
        return await self._ask(fragment)

    async def go(self, page: str, query: str = "") -> Answer:
        """Turn to another page, by its path, as a click in the navigation does, or a link with a query."""
        if page not in self._pages:
            raise ValueError(f"there is no page {page!r} in the navigation; it has {', '.join(self._pages)}")
        self.page, self._script_hash, self._query = page, self._pages[page], query
        return await self._ask()

    async def press(self, answer: Answer, label: str) -> Answer:
        """Press the button with this label."""
        widget, fragment = answer.buttons[label]
        self._states[widget] = WidgetState(id=widget, trigger_value=True)
        try:
            return await self._ask(fragment)
        finally:
            del self._states[widget]

    async def upload(self, answer: Answer, label: str, name: str, data: bytes) -> Answer:
        """Choose one file in the upload field with this label, in place of what was there."""
        widget, fragment = answer.uploaders[label]
        request = BackMsg()
        request.file_urls_request.request_id = uuid.uuid4().hex
        request.file_urls_request.file_names.append(name)
        request.file_urls_request.session_id = self._id
        await self._connection.send(request.SerializeToString())
        while True:
            message = await self._receive()
            if message.WhichOneof("type") == "file_urls_response":
                (urls,) = message.file_urls_response.file_urls
                break
        await asyncio.to_thread(_put, self._url, urls.upload_url, name, data, self._cookie)
        self._states[widget] = _uploaded(widget, name, len(data), urls)
        return await self._ask(fragment)

    async def _ask(self, fragment: str = "") -> Answer:
        await self._connection.send(self._request(fragment).SerializeToString())
        answer, started = Answer(), False
        while True:
            message = await self._receive()
            kind = message.WhichOneof("type")
            if kind == "new_session":
                started = True
                self._id = message.new_session.initialize.session_id
            elif kind == "navigation":
                self._script_hash = message.navigation.page_script_hash
                self._pages = {
                    "" if one.is_default else one.url_pathname: one.page_script_hash
                    for one in message.navigation.app_pages
                }
            answer.take(message)
            if kind == "script_finished" and started and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                if message.script_finished not in FINISHED:
                    answer.errors.append(f"the run ended with {message.script_finished}")
                if not fragment:
                    self._forget_all_but(answer)
                return answer

    def _forget_all_but(self, answer: Answer) -> None:
        """Keep the state of widgets that are on the page alone, as browsers do."""
        alive = {one.id for one in answer.sliders.values()}
        alive |= {widget for widget, _ in (*answer.buttons.values(), *answer.uploaders.values())}
        self._states = {widget: state for widget, state in self._states.items() if widget in alive}
        self._moved = {widget: value for widget, value in self._moved.items() if widget in alive}

    async def _receive(self) -> ForwardMsg:
        data = await self._connection.recv(decode=False)
        self.heard(data)
        return ForwardMsg.FromString(data)

    def _request(self, fragment: str) -> BackMsg:
        message = BackMsg()
        client = message.rerun_script
        client.page_name, client.page_script_hash, client.fragment_id = self.page, self._script_hash, fragment
        client.query_string = self._query
        client.widget_states.widgets.extend(self._states.values())
        return message

    async def close(self) -> None:
        """Leave, as closing the tab does."""
        await self._connection.close()


def _fetch_cookie(url: str) -> str:
    """The server's token against forged requests, which it wants back with each upload."""
    with urllib.request.urlopen(f"{url}/_stcore/health", timeout=60) as answer:
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            if cookie.startswith(f"{COOKIE}="):
                return cookie.partition("=")[2].partition(";")[0]
    return ""


def _put(url: str, path: str, name: str, data: bytes, cookie: str) -> None:
    """Send a file as a browser's form does. OSError where the server does not take it."""
    mark = uuid.uuid4().hex
    head = f'--{mark}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
    body = head.encode() + b"Content-Type: image/jpeg\r\n\r\n" + data + f"\r\n--{mark}--\r\n".encode()
    headers = {
        "Content-Type": f"multipart/form-data; boundary={mark}",
        "Cookie": f"{COOKIE}={cookie}",
        "X-Xsrftoken": cookie,
    }
    urllib.request.urlopen(urllib.request.Request(f"{url}{path}", body, headers, method="PUT"), timeout=60).close()


def _class_sliders(component: BidiComponent, fragment: str) -> dict[str, Slider]:
    """The sliders of the component `app.kit.class_sliders`, by label."""
    rows = [row for row in json.loads(component.json).get("rows", []) if row.get("id")]
    values = tuple((row["id"], row["value"]) for row in rows)
    return {
        row["label"]: Slider(
            component.id, 0, row["max"], row["value"], fragment=fragment, put=row["value"], row=row["id"], rows=values
        )
        for row in rows
    }


def _state(slider: Slider, value: float) -> WidgetState:
    """What a browser sends when the slider is released at this value."""
    state = WidgetState(id=slider.id)
    if slider.row:
        move = {"values": dict(slider.rows) | {slider.row: int(value)}, "seq": 0, "done": True}
        state.json_value = json.dumps({"move": move})
    else:
        state.double_array_value.data.append(value)
    return state


def _uploaded(widget: str, name: str, size: int, urls: FileURLs) -> WidgetState:
    state = WidgetState(id=widget)
    info = state.file_uploader_state_value.uploaded_file_info.add(name=name, size=size, file_id=urls.file_id)
    info.file_urls.CopyFrom(urls)
    return state
