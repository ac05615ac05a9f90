"""A document that a running local proxy has opened for us: the other end of documents/page.py.

`following` gives an office.source.Source in the process of who shows the document.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import h11
import msgspec

from local_proxy.commands.status import NoAnswer, credentials, fetch
from local_proxy.documents.page import PATH
from local_proxy.documents.report import (
    AnyLine,
    Begun,
    DocumentRefused,
    Ended,
    FocusRequest,
    News,
    OpenRequest,
    WholeBegun,
    decoder,
    encoder,
)
from local_proxy.status.control import TOKEN
from malformed import MALFORMED
from office.errors import NeedsMore, Unreadable
from office.outline import Media, Outline, OutlinePage
from office.text_view.records import TextView
from office.zip_directory import Directory, parse

MAX_LINE: Final = 32 << 20
"""Bytes: the coarse versions of a thousand pictures."""


class OpenFailed(Exception):
    """The document can't be had; the text is for people."""


class _Sites(msgspec.Struct):
    """What of /sites.json is needed here."""

    token: str


class Followed:
    """A file on its way in, as the lines of its stream have it."""

    def __init__(self, begun: Begun | WholeBegun) -> None:
        self.url = begun.url
        self.name = begun.name
        self.path = Path(begun.path)
        self.received = 0
        """Bytes of the file that are here."""
        self.complete = False
        self.failure = ""
        self.sha256 = ""
        """In hexadecimal digits, once it is complete."""
        self._watchers: list[Callable[[], None]] = []

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have `changed` called after anything has changed; what is returned ends that."""
        self._watchers.append(changed)

        def unwatch() -> None:
            if changed in self._watchers:
                self._watchers.remove(changed)

        return unwatch

    def hear(self, line: AnyLine) -> None:
        """The next line."""
        match line:
            case News():
                self.received = line.received
            case Ended():
                self.sha256, self.failure = line.sha256, line.failure
                self.complete = not line.failure
        for changed in tuple(self._watchers):
            changed()

    async def ended(self) -> None:
        """Until it is complete, or has failed."""
        ended = asyncio.Event()
        unwatch = self.watch(ended.set)
        try:
            while not self.complete and not self.failure:
                ended.clear()
                await ended.wait()
        finally:
            unwatch()


class FollowedWhole(Followed):
    """One that comes from its first byte to its last."""

    def __init__(self, begun: WholeBegun) -> None:
        super().__init__(begun)
        self.length = begun.length
        """Bytes; None: not known."""


class FollowedSource(Followed):
    """One that comes in parts: an office.source.Source."""

    def __init__(self, begun: Begun, look: Callable[[FocusRequest], None]) -> None:
        """Raises Failed where the file is not what the stream says."""
        super().__init__(begun)
        self.length = begun.length
        self.directory = _directory(begun)
        self.outline = Outline(
            begun.kind,
            tuple(OutlinePage(tuple(names)) for names in begun.pages),
            tuple(Media(m.entry, tuple(m.pages), m.width, m.height) for m in begun.media),
            tuple(begun.texts),
            tuple(begun.others),
        )
        self.text: TextView | None = None
        self.reach = 0
        self._look = look
        self._here: set[str] = set()
        self._low: dict[str, bytes] = {}

    def present(self, entry: str) -> bool:
        return entry in self._here

    def low(self, entry: str) -> bytes | None:
        return self._low.get(entry)

    def focus(self, page: int, visible: Sequence[str] = ()) -> None:
        self._look(FocusRequest(page, list(visible)))

    def hear(self, line: AnyLine) -> None:
        if isinstance(line, News):
            self._here.update(line.here)
            self._low.update(line.low)
            self.reach = line.reach
            if line.text or line.text_ends:
                self._read(line)
        super().hear(line)

    def _read(self, news: News) -> None:
        if self.text is None or not news.text_at:
            self.text = TextView(self.outline.kind, len(self.outline.pages))
        try:
            self.text.add(news.text)
            if news.text_ends:
                self.text.end()
        except Unreadable as error:
            raise OpenFailed(f"the local proxy is of another version: {error.reason}") from error


@asynccontextmanager
async def following(
    host: str, port: int, url: str, *, state: Path | None = None
) -> AsyncIterator[FollowedSource | FollowedWhole]:
    """Have the local proxy there open a document; it is open as long as the block lasts.

    `state`: the local proxy's folder (status.py). Raises NoAnswer without a local proxy,
    Failed without a document.
    """
    stream = _Stream(host, port, state)
    await stream.open(url)
    try:
        followed = _followed(await stream.line(), stream)
        reading = asyncio.ensure_future(_read(stream, followed))
        try:
            yield followed
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
    finally:
        await stream.close()


class _Stream:
    """One answer of the local proxy, line by line; and what is said back about it."""

    def __init__(self, host: str, port: int, state: Path | None) -> None:
        self._host, self._port, self._state = host, port, state
        self._token = ""
        self._number = 0
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self._http = h11.Connection(h11.CLIENT)
        self._rest = bytearray()
        self._looking: set[asyncio.Task[None]] = set()

    async def open(self, url: str) -> None:
        sites = await fetch(self._host, self._port, "/sites.json", state=self._state)
        try:
            self._token = msgspec.json.decode(sites, type=_Sites).token
        except MALFORMED as error:
            raise NoAnswer(f"the local proxy is of another version: {error}") from error
        try:
            self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        except OSError as error:
            raise NoAnswer(str(error)) from error
        self._writer.write(self._post(self._http, PATH, encoder.encode(OpenRequest(url))))

    async def line(self) -> AnyLine:
        """The next one. Raises Failed once there is none."""
        while True:
            line, found, rest = self._rest.partition(b"\n")
            if found:
                self._rest = rest
                if line:
                    return _decoded(bytes(line))
            elif len(self._rest) > MAX_LINE or not await self._more():
                raise OpenFailed("the local proxy has ended")

    async def _more(self) -> bool:
        """Whether anything more came."""
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError:
                return False
            if event is h11.NEED_DATA:
                try:
                    self._http.receive_data(await self._reader.read(65_536))
                except OSError:
                    return False
            elif isinstance(event, h11.Data):
                self._rest += event.data
                return True
            elif isinstance(event, h11.Response):
                if event.status_code != 200:
                    raise OpenFailed(f"the local proxy answered {event.status_code}")
            else:
                return False

    def began(self, number: int) -> None:
        """It is the document of that number."""
        self._number = number

    def look(self, focus: FocusRequest) -> None:
        """Tell it where a person is; whether that arrives is no matter."""
        task = asyncio.ensure_future(self._say(focus))
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    async def _say(self, focus: FocusRequest) -> None:
        try:
            reader, writer = await asyncio.open_connection(self._host, self._port)
            try:
                path = f"{PATH}/{self._number}/focus"
                writer.write(self._post(h11.Connection(h11.CLIENT), path, encoder.encode(focus)))
                await reader.read()
            finally:
                writer.close()
        except OSError:
            pass

    def _post(self, http: h11.Connection, path: str, body: bytes) -> bytes:
        fields = [
            ("host", "sluice.local"),
            ("connection", "close"),
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            (TOKEN, self._token),
            *credentials(self._state),
        ]
        request = h11.Request(method="POST", target=f"http://sluice.local{path}", headers=fields)
        parts = (http.send(request), http.send(h11.Data(body)), http.send(h11.EndOfMessage()))
        return b"".join(part or b"" for part in parts)

    async def close(self) -> None:
        """Read no more: the document closes."""
        for task in self._looking:
            task.cancel()
        self._writer.close()


async def _read(stream: _Stream, followed: Followed) -> None:
    try:
        while True:
            followed.hear(await stream.line())
    except OpenFailed as failure:
        if not followed.complete and not followed.failure:
            followed.hear(Ended(failure=str(failure)))


def _followed(line: AnyLine, stream: _Stream) -> FollowedSource | FollowedWhole:
    match line:
        case Begun():
            stream.began(line.number)
            return FollowedSource(line, stream.look)
        case WholeBegun():
            return FollowedWhole(line)
        case DocumentRefused():
            raise OpenFailed(line.reason)
    raise OpenFailed("the local proxy says nothing that makes sense")


def _directory(begun: Begun) -> Directory:
    try:
        with Path(begun.path).open("rb") as file:
            file.seek(begun.directory)
            return parse(file.read(), length=begun.length)
    except (OSError, Unreadable, NeedsMore) as error:
        raise OpenFailed(f"the document can't be read: {error}") from error


def _decoded(line: bytes) -> AnyLine:
    try:
        found: AnyLine = decoder.decode(line)
        return found
    except MALFORMED as error:
        raise OpenFailed(f"the local proxy is of another version: {error}") from error
