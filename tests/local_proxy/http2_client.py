"""An HTTP/2 client for tests on the h2 library: what is sent, and when, is the test's choice."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from h2 import events as e
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes, Settings

Fields = list[tuple[str, str]]


@dataclass
class Answer:
    """What came on one stream."""

    status: int = 0
    fields: dict[str, str] = field(default_factory=dict)
    informed: list[int] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    ended: bool = False
    reset: int | None = None


class Client:
    """One connection. `order` has stream and size of each DATA frame that came."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, window: int = 65535
    ) -> None:
        self._reader, self._writer = reader, writer
        config = H2Configuration(
            client_side=True,
            header_encoding="latin-1",
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
        )
        self.http = H2Connection(config)
        self.http.local_settings = Settings(
            client=True,
            initial_values={
                SettingCodes.INITIAL_WINDOW_SIZE: window,
                SettingCodes.MAX_CONCURRENT_STREAMS: 0,
            },
        )
        self.answers: dict[int, Answer] = defaultdict(Answer)
        self.order: list[tuple[int, int]] = []
        self.goodbye: e.ConnectionTerminated | None = None
        self.closed = False
        self.settings: dict[int, int] = {}
        self.acknowledge = True
        """Give back the window for what has come."""
        self.events: list[e.Event] = []

    async def begin(self) -> None:
        self.http.initiate_connection()
        await self.flush()
        while not self.settings:
            await self.hear()

    async def flush(self) -> None:
        self._writer.write(self.http.data_to_send())
        await self._writer.drain()

    async def send_raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def ask(
        self, path: str = "/", *, extra: Iterable[tuple[str, str]] = (), end: bool = True
    ) -> int:
        """Queue a GET; the stream's number."""
        fields = [
            *((":method", "GET"), (":scheme", "http"), (":authority", "host.test")),
            *((":path", path), *extra),
        ]
        return self.ask_with(fields, end=end)

    def ask_with(self, fields: Fields, *, end: bool = True) -> int:
        number = self.http.get_next_available_stream_id()
        self.http.send_headers(number, fields, end_stream=end)
        return number

    async def hear(self) -> None:
        """Take in what comes next."""
        try:
            data = await self._reader.read(65536)
        except ConnectionError:
            data = b""
        if not data:
            self.closed = True
            return
        for event in self.http.receive_data(data):
            self.happened(event)
        if not self.goodbye:
            await self.flush()

    def happened(self, event: e.Event) -> None:
        self.events.append(event)
        match event:
            case e.ResponseReceived(stream_id=number, headers=headers):
                fields = dict(headers)
                self.answers[number].status = int(fields.pop(":status"))
                self.answers[number].fields = fields
            case e.InformationalResponseReceived(stream_id=number, headers=headers):
                self.answers[number].informed.append(int(dict(headers)[":status"]))
            case e.DataReceived(stream_id=number, data=data, flow_controlled_length=size):
                self.answers[number].body += data
                self.order.append((number, len(data)))
                if self.acknowledge and size:
                    self.http.acknowledge_received_data(size, number)
            case e.StreamEnded(stream_id=number):
                self.answers[number].ended = True
            case e.StreamReset(stream_id=number, error_code=code):
                self.answers[number].reset = int(code)
            case e.ConnectionTerminated():
                self.goodbye = event
            case e.RemoteSettingsChanged(changed_settings=changed):
                self.settings |= {int(k): v.new_value for k, v in changed.items()}

    async def answer(self, number: int) -> Answer:
        """The stream's answer, once it is over."""
        await self.flush()
        answer = self.answers[number]
        while not answer.ended and answer.reset is None and not self.closed:
            await self.hear()
        return answer

    async def get(self, path: str = "/", *, extra: Iterable[tuple[str, str]] = ()) -> Answer:
        return await self.answer(self.ask(path, extra=extra))

    async def until_closed(self) -> None:
        await self.flush()
        while not self.closed:
            await self.hear()

    def close(self) -> None:
        self._writer.close()
