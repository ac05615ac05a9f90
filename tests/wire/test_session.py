"""Sessions: the table, who may say what, header blocks, versions, limits."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire import abilities
from wire import messages as m
from wire.credit import BATCH, INITIAL, MAXIMUM, ReceiveCredit, SendCredit
from wire.errors import LocalError, NoCommonVersion, PeerError
from wire.fields import MAX_REQUEST
from wire.package import Slice
from wire.session import (
    COMMANDS,
    MAX_CONTROL_QUEUE,
    TRANSITIONS,
    Session,
    SessionState,
    SessionStep,
    Side,
)
from wire.skeleton import Kind, Level, Part, Use
from wire.tree_row import TreeRow


def pair() -> tuple[Session, Session]:
    local = Session(Side.LOCAL, agent="test", device="phone")
    remote = Session(Side.REMOTE, agent="test")
    carry(local, remote)
    carry(remote, local)
    return local, remote


def carry(sender: Session, receiver: Session) -> list[tuple[m.Message, list[tuple[str, str]]]]:
    got = []
    while (payload := sender.next_control()) is not None:
        got.append(receiver.receive(payload))
    return got


def test_opening() -> None:
    local, remote = pair()
    assert (local.state, remote.state) == (SessionState.OPEN, SessionState.OPEN)
    assert local.version == remote.version == m.VERSIONS[0]
    assert remote.peer is not None
    assert remote.peer.device == "phone"
    assert repr(local) == "<Session local open queued=0>"


def test_nothing_overtakes_hello() -> None:
    local = Session(Side.LOCAL, agent="test")
    local.enqueue(m.Ping(1))
    first = local.next_control()
    assert first is not None
    assert isinstance(m.decode(first), m.Hello)
    assert local.next_control() is None
    assert local.queued == 1


def test_component_ids_never_meet() -> None:
    local, remote = pair()
    ids = {local.new_component() for _ in range(5)} | {remote.new_component() for _ in range(5)}
    assert ids == set(range(1, 11))


def test_header_blocks_shrink_and_survive() -> None:
    local, remote = pair()
    headers = [("user-agent", "Mozilla/5.0 (X11)"), ("cookie", "a=b"), ("x-odd", "caf\xe9")]
    sizes = []
    for component in (1, 3):
        local.enqueue(m.Request(component, 1, "GET", "http://a.test/", b""), headers)
        payload = local.next_control()
        assert payload is not None
        sizes.append(len(payload))
        message, received = remote.receive(payload)
        assert isinstance(message, m.Request)
        assert received == headers
    assert sizes[1] < sizes[0]


def test_both_ends_count_the_commands_of_a_session_alike() -> None:
    local, remote = pair()
    commands: list[m.Message] = [
        m.SetScheduler([], "fifo"), m.SetWeight([], 1.0), m.SetQuantum([], 0), m.SetPlan([]),
        m.Raise(2, 1), m.Hold(2, True), m.Fetch(2, "low"), m.Reserve(["browser"], 9e3),
        m.GiveWay(["browser"]),
    ]  # fmt: skip
    numbers = []
    for command in commands:
        local.enqueue(m.Ping(1))
        local.enqueue(command)
        numbers.append((local.commands, type(command)))
    assert [number for number, _ in numbers] == list(range(1, len(commands) + 1))
    heard = []
    while (payload := local.next_control()) is not None:
        message, _ = remote.receive(payload)
        if not isinstance(message, m.Ping):
            heard.append((remote.commands, type(message)))
    assert heard == numbers
    assert {kind for _, kind in heard} == set(COMMANDS)
    local.enqueue(m.Goodbye())
    local.enqueue(m.Raise(2, 1))  # said too late: dropped
    assert local.commands == len(commands)


def older(payload: bytes) -> bytes:
    """A Hello of somebody who keeps no more fields than RFC 7541 has everybody keep."""
    hello = m.decode(payload)
    assert isinstance(hello, m.Hello)
    accepts = [one for one in hello.accepts if one != abilities.FIELDS]
    return m.encode(msgspec.structs.replace(hello, accepts=accepts))


def blocks(
    sender: Session, *requests: list[tuple[str, str]], url: str = "http://a.test/"
) -> list[bytes]:
    """The header blocks of these requests."""
    found = []
    for headers in requests:
        request = m.Request(sender.new_component(), 1, "GET", url, b"")
        sender.enqueue(request, headers)
        payload = sender.next_control()
        assert payload is not None
        decoded = m.decode(payload)
        assert isinstance(decoded, m.Request)
        found.append(decoded.headers)
    return found


TOKEN = "Bearer " + "x7Kq" * 20


@pytest.mark.parametrize(
    "field",
    [
        ("authorization", "Basic c2VjcmV0"),
        ("cookie", "pin=1234"),
        ("set-cookie", "session=" + "x7Kq" * 20),
        ("proxy-authorization", TOKEN),
    ],
)
def test_credentials_that_might_be_guessed_are_never_indexed(field: tuple[str, str]) -> None:
    local, _ = pair()
    _, *said = blocks(local, [("a", "b")], [field], [field])
    assert said[0] == said[1]
    assert said[0][0] & 0xF0 == 0x10  # RFC 7541, 6.2.3


@pytest.mark.parametrize("field", [("authorization", TOKEN), ("cookie", "a=b; sid=" + "x7Kq" * 9)])
def test_what_nobody_guesses_is_said_once(field: tuple[str, str]) -> None:
    local, _ = pair()
    first, again = blocks(local, [field], [field])
    assert len(first) > 30
    assert len(again) <= 8


@pytest.mark.parametrize("field", [("authorization", TOKEN), ("cookie", "a=b; sid=" + "x7Kq" * 9)])
def test_another_site_can_not_ask_whether_it_was_said(field: tuple[str, str]) -> None:
    """A page may have its own cookies say what it likes; their length must not tell."""
    local, _ = pair()
    new = ("cookie" if field[0] == "cookie" else "authorization", field[1].swapcase())
    blocks(local, [field], [field])
    for url in ("http://b.test/", "https://a.test/", "http://a.test:81/"):
        guess, other = blocks(local, [field], [new], url=url)
        assert abs(len(guess) - len(other)) <= len(field[1]) // 8  # by Huffman's code
        assert len(guess) > 25
    assert len(blocks(local, [field])[0]) <= 8


def test_a_promise_s_credentials_are_those_of_its_parts() -> None:
    local, remote = pair()
    cookie = [("cookie", "sid=" + "x7Kq" * 9)]
    for url, most in (("http://a.test/x", 90), ("http://a.test/y", 8), ("http://b.test/x", 90)):
        parts = [Part(remote.new_component(), url, Kind.STYLE, Use.BLOCKING, 0)]
        remote.enqueue(m.Skeleton(1, parts, True), cookie)
        payload = remote.next_control()
        assert payload is not None
        message, got = local.receive(payload)
        assert isinstance(message, m.Skeleton)
        assert got == cookie
        assert (len(message.headers) <= 8) is (most == 8)


@pytest.mark.parametrize("field", [("authorization", TOKEN), ("cookie", "sid=" + "x7Kq" * 9)])
def test_an_older_peer_is_told_credentials_each_time(field: tuple[str, str]) -> None:
    other = Session(Side.LOCAL, agent="test")
    assert other.next_control() is not None
    other.receive(older(remote_hello()))
    first, again = blocks(other, [field], [field])
    assert first == again
    assert first[0] & 0xF0 == 0x10


def remote_hello() -> bytes:
    """What the remote side says first."""
    payload = Session(Side.REMOTE, agent="test").next_control()
    assert payload is not None
    return payload


def test_of_a_cookie_only_the_part_that_has_changed_is_said() -> None:
    local, _ = pair()
    parts = [f"name{number}=" + "x7Kq" * 8 for number in range(9)]
    first, again = blocks(
        local,
        [("cookie", "; ".join(parts))],
        [("cookie", "; ".join([*parts[:4], "name4=" + "other" * 8, *parts[5:]]))],
    )
    assert len(first) > 200
    assert len(again) < 60


FIELD_VALUES = st.text(st.characters(codec="latin-1", exclude_characters="\r\0"), max_size=80)


@given(
    requests=st.lists(
        st.lists(
            st.tuples(st.sampled_from(["cookie", "accept", "etag", "authorization"]), FIELD_VALUES),
            max_size=8,
        ),
        max_size=6,
    )
)
def test_fields_survive_whatever_was_said_before(requests: list[list[tuple[str, str]]]) -> None:
    """Several cookies are one (RFC 9113, 8.2.3)."""
    local, remote = pair()
    for headers in requests:
        local.enqueue(m.Request(local.new_component(), 1, "GET", "http://a.test/", b""), headers)
        ((_, got),) = carry(local, remote)
        cookies = [value for name, value in headers if name == "cookie"]
        assert [value for name, value in got if name == "cookie"] == (
            ["; ".join(cookies)] if cookies else []
        )
        rest = [field for field in headers if field[0] != "cookie"]
        assert [field for field in got if field[0] != "cookie"] == rest


@pytest.mark.parametrize("part", ["a=b; ", "; ", "name=" + "x" * 200 + "; "])
def test_the_largest_cookie_crosses(part: str) -> None:
    local, remote = pair()
    cookie = (part * MAX_REQUEST)[: MAX_REQUEST - 100]
    local.enqueue(m.Request(1, 1, "GET", "http://a.test/", b""), [("cookie", cookie)])
    assert carry(local, remote)[0][1] == [("cookie", cookie)]


@pytest.mark.parametrize(
    ("side", "message"),
    [
        (Side.REMOTE, m.Request(1, 1, "GET", "http://a.test/", b"")),
        (Side.LOCAL, m.Head(1, 200, b"")),
        (Side.LOCAL, m.Skeleton(1, [], True)),
        (Side.REMOTE, m.CloseDocument(1)),
        (Side.LOCAL, m.Refused(1, "never heard of")),
    ],
)
def test_direction(side: Side, message: m.Message) -> None:
    local, remote = pair()
    ours, theirs = (local, remote) if side is Side.LOCAL else (remote, local)
    with pytest.raises(LocalError):
        ours.enqueue(message)
    with pytest.raises(PeerError):
        theirs.receive(m.encode(message))


def test_no_common_version() -> None:
    with pytest.raises(PeerError, match=r"ours 1, theirs 7, 9"):
        Session(Side.LOCAL, agent="test").receive(m.encode(m.Hello([7, 9])))


@pytest.mark.parametrize(
    ("theirs", "older"), [([2, 3], False), ([0], True), ([0, 2], False), ([0] * 5000, True)]
)
def test_of_two_ends_without_a_common_version_the_one_that_lacks_the_newest_is_the_older(
    theirs: list[int], older: bool
) -> None:
    with pytest.raises(NoCommonVersion) as refused:
        Session(Side.LOCAL, agent="test", versions=(1,)).receive(m.encode(m.Hello(theirs)))
    assert refused.value.peer_is_older is older
    assert len(str(refused.value)) < 100


def test_a_hello_of_no_version_is_the_peers_fault() -> None:
    with pytest.raises(PeerError, match="no protocol version"):
        Session(Side.REMOTE, agent="test").receive(m.encode(m.Hello([])))


def test_a_hello_of_before_there_were_codings_accepts_none() -> None:
    hello = m.decode(msgspec.msgpack.encode([1, [1], "old", "device"]))
    assert hello == m.Hello([1], "old", "device", 2, [], 0)
    remote = Session(Side.REMOTE, agent="test")
    remote.receive(m.encode(m.Hello([1], "new", "device", accepts=[abilities.ARITHMETIC])))
    assert remote.peer is not None
    assert remote.peer.accepts == [abilities.ARITHMETIC]


def test_second_hello_and_early_message() -> None:
    _, remote = pair()
    with pytest.raises(PeerError, match="second Hello"):
        remote.receive(m.encode(m.Hello([1])))
    with pytest.raises(PeerError, match="before Hello"):
        Session(Side.REMOTE, agent="test").receive(m.encode(m.Ping(1)))


def test_goodbye_ends_both_sides() -> None:
    local, remote = pair()
    local.enqueue(m.Goodbye("bye"))
    local.enqueue(m.Ping(1))  # said too late: dropped
    assert [type(message) for message, _ in carry(local, remote)] == [m.Goodbye]
    assert (local.state, remote.state) == (SessionState.CLOSING, SessionState.CLOSED)
    remote.link_lost()
    with pytest.raises(PeerError, match="goodbye received while closed"):
        remote.receive(m.encode(m.Goodbye()))


def test_link_lost_forgets_the_queue() -> None:
    local, _ = pair()
    local.enqueue(m.Ping(1))
    local.link_lost()
    assert (local.state, local.queued) == (SessionState.CLOSED, 0)


def test_every_state_knows_a_lost_link() -> None:
    assert {state for state, step in TRANSITIONS if step is SessionStep.LINK_LOST} == set(
        SessionState
    )


def test_queue_is_bounded() -> None:
    local, _ = pair()
    with pytest.raises(LocalError, match="too many"):
        for token in range(MAX_CONTROL_QUEUE + 1):
            local.enqueue(m.Ping(token))


def test_malformed_header_block() -> None:
    _, remote = pair()
    request = m.Request(1, 1, "GET", "http://a.test/", b"\xff\xff\xff\xff\xff\xff")
    with pytest.raises(PeerError, match="header block"):
        remote.receive(m.encode(request))


def test_header_bomb() -> None:
    local, remote = pair()
    headers = [("x-long", "a" * 4000)] * 60
    local.enqueue(m.Request(1, 1, "GET", "http://a.test/", b""), headers)
    payload = local.next_control()
    assert payload is not None
    assert len(payload) < 10_000
    with pytest.raises(PeerError, match="header block"):
        remote.receive(payload)


EXAMPLES: list[m.Message] = [
    m.Hello([1, 2], "a", "b", 4, ["arithmetic"], 600),
    m.Credit(1, 5),
    m.Reset(1, "gone"),
    m.Ping(1),
    m.Pong(2),
    m.Goodbye("x"),
    m.Request(1, 1, "GET", "http://a.test/", b"", has_body=True, levels=True),
    m.Cancel(1),
    m.CloseDocument(2),
    m.SetScheduler(["a"], "wf2q_plus", {"x": 1.5}),
    m.SetWeight(["a", "b"], 0.8),
    m.SetQuantum([], 256),
    m.SetPlan([{"kind": "image"}]),
    m.Raise(1, 2),
    m.Hold(1, True),
    m.Fetch(2, "high", 1),
    m.LookAtTree(),
    m.Expired(2),
    m.TooSoon(1, 7.5),
    m.Growing(1),
    m.Notice("3 pictures left out"),
    m.Decisions({"slow": 12, "soon": 3}),
    m.Carries(48_000, 75),
    m.Leaves(30_000, 100),
    m.Contended(True),
    m.Refused(3, "no scheduler is called so"),
    m.Reserve(["browser", "7"], 62_500.0, 2.0),
    m.GiveWay(["browser", "7"], False),
    m.AskedFor(7),
    m.Guaranteed(["browser", "7", "12"], 62_500.0, held=True),
    m.TreeDrawn([TreeRow(1, "7", 2, "image", 1.0, 9, "the plan", leaf=True)]),
    m.Package(1, 90, 70, "pptx", 1, 2, [Slice(Kind.TEXT, [0, 70], [1, 1])]),
    m.Head(1, 200, b"", 5, "br", ""),
    m.Levels(2, [Level("low", 0, 5, "image/jpeg", b"\xff\xd9")], 50),
    m.Skeleton(1, [Part(2, "/a", Kind.IMAGE, Use.ELEMENT, 0, 3, 4)], True),
    m.Failed(1, 502, "refused"),
    m.Hint(2, 103, b""),
    m.Trailers(2, b""),
    m.Script(2, reads_pixels=True),
    m.Packed(b"not deflated", b""),
]


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda message: type(message).__name__)
def test_messages_survive(message: m.Message) -> None:
    assert m.decode(m.encode(message)) == message


def test_every_message_has_an_example() -> None:
    assert {type(message) for message in EXAMPLES} == set(m.Message.__subclasses__())


@given(st.binary(max_size=200))
def test_random_messages_are_peer_errors(payload: bytes) -> None:
    try:
        message = m.decode(payload)
    except PeerError:
        return
    assert isinstance(message, m.Message)


@given(st.sampled_from(EXAMPLES), st.data())
def test_mutated_messages(message: m.Message, draw: st.DataObject) -> None:
    payload = bytearray(m.encode(message))
    payload[draw.draw(st.integers(0, len(payload) - 1))] = draw.draw(st.integers(0, 255))
    _, remote = pair()
    try:
        remote.receive(bytes(payload))
    except PeerError:
        return
    assert remote.state in (SessionState.OPEN, SessionState.CLOSED)


def test_deep_nesting_is_a_peer_error() -> None:
    bomb = msgspec.msgpack.encode([22, []])[:-1] + b"\x91" * 60_000
    with pytest.raises(PeerError):
        m.decode(bomb)


def test_credit() -> None:
    send, receive = SendCredit(), ReceiveCredit()
    send.spend(INITIAL)
    receive.arrive(INITIAL)
    assert receive.consume(BATCH - 1) == 0
    more = receive.consume(1)
    assert more == BATCH
    send.grant(more)
    assert send.available == BATCH
    with pytest.raises(LocalError):
        send.spend(BATCH + 1)
    with pytest.raises(PeerError):
        receive.arrive(BATCH + 1)


@pytest.mark.parametrize("amount", [0, -5, MAXIMUM])
def test_absurd_credit(amount: int) -> None:
    with pytest.raises(PeerError):
        SendCredit().grant(amount)


@given(st.lists(st.integers(1, INITIAL), max_size=40))
def test_sender_never_exceeds_what_the_receiver_gave(chunks: list[int]) -> None:
    send, receive = SendCredit(), ReceiveCredit()
    for chunk in chunks:
        part = min(chunk, send.available)
        send.spend(part)
        receive.arrive(part)
        if more := receive.consume(part):
            send.grant(more)
        assert send.available == receive.given - receive.received
        assert send.available > INITIAL - BATCH
