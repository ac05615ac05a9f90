"""Tests of what goes up a link: bodies, inputs of tunnels; and of the dialling of links."""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass, field
from typing import Any

import pytest
from PIL import Image

from emulation.memory.virtual_time import run
from local_proxy.dialling.dialer import Dialer
from local_proxy.dialling.which_remote import Remote
from local_proxy.link.components import Component
from local_proxy.link.picture_decoding import PictureDecoding
from local_proxy.link.tunnel import Tunnel
from local_proxy.link.uploads import TALK_WEIGHT, UPLOAD_QUANTUM, Uploads
from tests.local_proxy.scripted_remote import Linked, linked, moment
from tests.local_proxy.site import levels, progressive
from tests.watched import run as run_watched
from transcoders.exact.coder import Undone
from transcoders.make.low import in_front
from transcoders.make.sketch import draw
from transcoders.picture import Picture
from transcoders.work.workers import Busy
from transport.link.interface import LinkError
from transport.paths.interfaces import Change
from transport.sending.talk import BURST
from wire import abilities
from wire import messages as m
from wire.errors import PeerError
from wire.frames import Control, Data
from wire.origin_request import OriginRequest
from wire.session import Session, Side

# -- tunnels ---------------------------------------------------------------------------------------


async def opened(to: Linked) -> Tunnel:
    session = to.session
    component = Component(session.new_id(), 0, "far.test:22")
    session.request(component, OriginRequest("CONNECT", component.url, [], has_body=True))
    tunnel = Tunnel(component, session.upload(component.id, tunnel=True), session)
    await moment()
    to.remote.head(component.id)
    return tunnel


def test_a_tunnel_carries_bytes_both_ways_and_half_closes() -> None:
    async def main() -> None:
        async with linked() as to:
            tunnel = await opened(to)
            number = to.remote.asked[0].component
            await tunnel.write(b"hello")
            to.remote.send(number, b"welcome", last=False)
            assert await tunnel.read() == b"welcome"
            assert to.remote.uploaded[number] == b"hello"
            await tunnel.end()
            await moment()
            assert to.remote.ended == {number}
            to.remote.send(number, b"bye")
            assert await tunnel.read() == b"bye"
            assert await tunnel.read() == b""
            await tunnel.close()

    run(main())


def test_closing_a_tunnel_tells_the_remote() -> None:
    async def main() -> None:
        async with linked() as to:
            tunnel = await opened(to)
            await tunnel.close()
            await moment()
            assert to.remote.of(m.Cancel) == [m.Cancel(to.remote.asked[0].component)]

    run(main())


def test_a_tunnel_ends_with_its_link() -> None:
    async def main() -> None:
        async with linked() as to:
            tunnel = await opened(to)
            reading = asyncio.ensure_future(tunnel.read())
            await moment()
            to.remote.close(LinkError("reset"))
            assert await reading == b""
            await tunnel.write(b"into nothing")

    run(main())


# -- uploads ---------------------------------------------------------------------------------------


class Up:
    """Uploads of a session that is open, and what of them would go to the link."""

    def __init__(self) -> None:
        self.woken = 0
        session = Session(Side.LOCAL, agent="test")
        remote = Session(Side.REMOTE, agent="test")
        hello = remote.next_control()
        assert hello is not None
        session.receive(hello)
        self.uploads = Uploads(session, wake=self._wake)
        assert isinstance(self.next(), Control)

    def _wake(self) -> None:
        self.woken += 1

    def next(self) -> Data | Control | None:
        return self.uploads.outbox.next_frame(now=0.0, urgent=False)

    def order(self, count: int) -> list[int]:
        frames = [self.next() for _ in range(count)]
        return [frame.component for frame in frames if isinstance(frame, Data)]


def test_a_body_goes_up_in_small_pieces_to_its_end() -> None:
    up = Up()
    body = up.uploads.open(1, tunnel=False)
    body.write(b"x" * (UPLOAD_QUANTUM + 1))
    body.finish()
    assert up.woken
    assert up.next() == Data(1, b"x" * UPLOAD_QUANTUM)
    assert up.next() == Data(1, b"x", last=True)
    assert up.next() is None


def test_talk_goes_before_transfers_until_it_is_one() -> None:
    up = Up()
    body, talk = up.uploads.open(1, tunnel=False), up.uploads.open(3, tunnel=True)
    for one in (body, talk):
        one.write(bytes(UPLOAD_QUANTUM * 40))
    before = up.order(18).count(3)
    assert before >= 2 * TALK_WEIGHT - 1
    up.uploads.set_talk(talk, False)
    up.order(18)  # what was settled before
    assert abs(up.order(20).count(3) - 10) <= 1


def test_what_nobody_gave_credit_for_waits_and_what_is_dropped_is_forgotten() -> None:
    up = Up()
    body = up.uploads.open(1, tunnel=False)
    body.write(bytes(3 << 20))
    sent = 0
    while isinstance(frame := up.next(), Data):
        sent += len(frame.payload)
    up.uploads.grant(1, 700)
    frames = [up.next(), up.next(), up.next()]
    assert sum(len(frame.payload) for frame in frames if isinstance(frame, Data)) == 700
    assert sent == 1 << 20
    with pytest.raises(PeerError):
        up.uploads.grant(1, -1)
    up.uploads.grant(99, 1)  # of one that is over
    assert up.uploads.drop(1)
    assert not up.uploads.drop(1)
    assert body.closed
    up.uploads.set_talk(body, True)  # too late, and no harm


def test_a_lost_link_drops_all() -> None:
    up = Up()
    both = [up.uploads.open(number, tunnel=False) for number in (1, 3)]
    for one in both:
        one.write(b"abc")
    up.uploads.drop_all()
    assert all(one.closed for one in both)
    assert up.next() is None


def test_a_tunnel_that_says_much_is_no_talk_any_more() -> None:
    async def main() -> None:
        async with linked() as to:
            tunnel = await opened(to)
            up = to.session.uploads.outbox.get(to.remote.asked[0].component)
            assert up is not None
            assert up.leaf.weight == TALK_WEIGHT
            await tunnel.write(bytes(BURST + 1))
            assert up.leaf.weight == 1.0

    run(main())


# -- dialling --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairingSettings:
    remote: str = ""
    security: str = "none"
    pair: str = ""
    state: str = ""
    transport: str = "tcp"
    paths: list[str] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    budgets: dict[str, str] = field(default_factory=dict)
    path_congestion: dict[str, str] = field(default_factory=dict)


def dialer(address: str, heard: list[LinkError | None], **settings: Any) -> Dialer:
    return Dialer(
        PairingSettings(**settings),
        Remote(address),
        congestion="cubic",
        patience=0.1,
        on_change=heard.append,
        expecting=lambda: False,
    )


def test_a_link_that_nobody_answers_is_an_error_that_says_so() -> None:
    async def main() -> None:
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        one = dialer(f"127.0.0.1:{port}", [])
        one.network_changed(Change(""))  # before anything was dialled
        with pytest.raises((LinkError, OSError)):
            await one.dial()
        assert one.address == f"127.0.0.1:{port}"
        assert one.why_not_udp() == ""  # it is not wanted

    run_watched(main())


def test_the_remote_is_dialled_at_its_own_address_in_brackets_or_not() -> None:
    async def main() -> None:
        greeted: asyncio.Queue[bytes] = asyncio.Queue()

        async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            greeted.put_nowait(await reader.read(64))
            writer.close()

        for host, shown in (("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")):
            try:
                server = await asyncio.start_server(met, host, 0)
            except OSError:
                continue  # no such loopback on this machine
            port = server.sockets[0].getsockname()[1]
            with pytest.raises((LinkError, OSError)):
                await dialer(f"{shown}:{port}", []).dial()
            assert await greeted.get()
            server.close()
            await server.wait_closed()

    run_watched(main())


def test_where_interfaces_have_budgets_tcp_takes_one_that_has_none() -> None:
    async def main() -> None:
        met = asyncio.Event()

        async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            met.set()
            writer.close()

        server = await asyncio.start_server(meet, "127.0.0.1", 0)
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        metered = {"roles": {"lo": "metered"}, "budgets": {"lo": "2 GB"}, "paths": ["lo"]}
        with pytest.raises(LinkError, match="only interfaces with a budget are up"):
            await dialer(address, [], **metered).dial()
        assert not met.is_set()
        other = {"roles": {"wwan9": "metered"}, "budgets": {"wwan9": "2 GB"}, "paths": ["lo"]}
        with pytest.raises((LinkError, OSError)):
            await dialer(address, [], **other).dial()
        await met.wait()
        server.close()
        await server.wait_closed()

    run_watched(main())


# -- what this device can undo ---------------------------------------------------------------------


def test_without_jpegtran_nothing_arithmetic_is_taken() -> None:
    async def main() -> None:
        decoding = PictureDecoding(None, streams=False)
        await decoding.probe()
        accepted = decoding.accepts()
        assert {abilities.SKETCH, abilities.EXACT} <= set(accepted)
        assert abilities.ARITHMETIC not in accepted
        assert abilities.SCANS not in accepted
        await decoding.close()

    run_watched(main())


def test_a_sketch_is_enlarged_until_the_device_closes() -> None:
    data, ends = progressive(1)
    whole = Picture(data, levels(data, ends), 320, 240, lossless=True, identical=True)
    made = in_front(draw(data), whole)
    sketch = made.levels[0]

    async def main() -> None:
        decoding = PictureDecoding(None, streams=False)
        size = sketch.width, sketch.height
        coarse = made.data[: sketch.end]
        with Image.open(io.BytesIO(await decoding.enlarge(coarse, *size))) as image:
            assert image.size == (320, 240)
        for undone in (decoding.undo(b"no form", size=9), decoding.restore(b"form", b"no recipe")):
            with pytest.raises(Undone):
                await undone
        await decoding.close()
        with pytest.raises(Busy):
            await decoding.enlarge(coarse, *size)

    run_watched(main())


def test_where_pictures_are_streams_none_of_them_can_be_undone() -> None:
    async def main() -> None:
        decoding = PictureDecoding(None, streams=True)
        assert abilities.SKETCH not in decoding.accepts()
        assert abilities.EXACT in decoding.accepts()  # of documents, which are no streams
        await decoding.close()

    run_watched(main())
