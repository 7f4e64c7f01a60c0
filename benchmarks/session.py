"""A visitor without a browser: one session of Streamlit's websocket protocol, that opens a page and moves sliders."""

from dataclasses import dataclass, field
from urllib.parse import urlparse

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol


@dataclass(frozen=True)
class Slider:
    """A slider on the page, as the server described it."""

    id: str
    low: float
    high: float
    default: float


@dataclass
class Answer:
    """What one run of the page sent: its sliders, the content of its charts by place, its errors and its size."""

    sliders: dict[str, Slider] = field(default_factory=dict)
    charts: dict[tuple[int, ...], bytes] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    num_bytes: int = 0

    def take(self, message: ForwardMsg) -> None:
        """Note what matters of one message."""
        self.num_bytes += message.ByteSize()
        if message.WhichOneof("type") != "delta" or message.delta.WhichOneof("type") != "new_element":
            return
        element = message.delta.new_element
        kind = element.WhichOneof("type")
        if kind == "slider":
            one = element.slider
            self.sliders[one.label] = Slider(one.id, one.min, one.max, one.default[0])
        elif kind == "vega_lite_chart":
            self.charts[tuple(message.metadata.delta_path)] = element.vega_lite_chart.SerializeToString()
        elif (problem := error_in(element)) is not None:
            self.errors.append(problem)


def error_in(element: Element) -> str | None:
    """The text of an exception or an error that the page shows, or None."""
    kind = element.WhichOneof("type")
    if kind == "exception":
        return f"{element.exception.type}: {element.exception.message}"
    if kind == "alert" and element.alert.format == element.alert.ERROR:
        return element.alert.body
    return None


class Session:
    """One connection. It remembers where it moved each slider, and sends all of them each time, as a browser does.

    It keeps no cache of messages, as browsers do for large ones, so that the server sends each in full.
    """

    def __init__(self, connection: ClientConnection, page: str) -> None:
        self._connection, self._page, self._script_hash = connection, page, ""
        self._moved: dict[str, float] = {}

    @classmethod
    async def open(cls, url: str, page: str) -> "Session":
        """Connect to the server at http://HOST:PORT; `page` is the path of the page, without the slash."""
        stream = f"ws://{urlparse(url).netloc}/_stcore/stream"
        return cls(await connect(stream, subprotocols=[Subprotocol("streamlit")], max_size=None), page)

    def value_of(self, slider: Slider) -> float:
        """Where the slider stands now."""
        return self._moved.get(slider.id, slider.default)

    async def run(self, moved: dict[Slider, float] | None = None) -> Answer:
        """Move sliders (or just open the page), and wait until the run that this starts is over."""
        self._moved |= {slider.id: value for slider, value in (moved or {}).items()}
        await self._connection.send(self._request().SerializeToString())
        answer, started = Answer(), False
        while True:
            data = await self._connection.recv(decode=False)
            message = ForwardMsg.FromString(data)
            kind = message.WhichOneof("type")
            if kind == "new_session":
                started = True
            elif kind == "navigation":
                self._script_hash = message.navigation.page_script_hash
            answer.take(message)
            if kind == "script_finished" and started:
                if message.script_finished != ForwardMsg.FINISHED_SUCCESSFULLY:
                    answer.errors.append(f"the run ended with {message.script_finished}")
                return answer

    def _request(self) -> BackMsg:
        message = BackMsg()
        client = message.rerun_script
        client.page_name, client.page_script_hash = self._page, self._script_hash
        for widget, value in self._moved.items():
            state = client.widget_states.widgets.add(id=widget)
            state.double_array_value.data.append(value)
        return message

    async def close(self) -> None:
        """Leave, as closing the tab does."""
        await self._connection.close()
