"""Words by which an end of a session says in its Hello what it can do, and a client what it takes.

The other end uses only what it was told of: one that is older is never sent what it can't read.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Final

ARITHMETIC: Final = "arithmetic"
"""The coding of a JPEG whose entropy coding is arithmetic (T.81, annex D) on the link alone: each
level is to be Huffman-coded again before anybody gets it."""
SKETCH: Final = "sketch"
"""Who accepts it enlarges low levels that are small WebP pictures (skeleton.Level.width)."""
EXACT: Final = "exact"
"""The coding of a picture in a document's part as an exact form (transcoders/exact): it is to be
undone before the bytes are put into the file. Who accepts it can; Takes.EXACT asks for it."""
RECIPES: Final = "recipes"
"""Who accepts it makes the origin's bytes of a PNG by its recipe (transcoders/exact/recipe.py),
which follows the last level; without one they can be had only if Levels says `identical`."""
SCANS: Final = "scans"
"""Who accepts it does so of a JPEG, too."""
PACKED: Final = "packed"
"""Who accepts it inflates Packed messages."""
GROWING: Final = "growing"
"""The remote that accepts it is told of documents by Growing."""
NOTICES: Final = "notices"
"""Who accepts it is told by Notice what its device should know."""
BANDWIDTH: Final = "bandwidth"
"""Who accepts it is told by Carries what the sender's gate has found that the link carries."""
AVAILABLE: Final = "available"
"""Who accepts it is told by Leaves what others leave of its link, where that is measured."""
CONTENDED: Final = "contended"
"""Who accepts it is told by Contended whether others fill the queue of its line."""
REFUSALS: Final = "refusals"
"""Who accepts it is told by Refused which of its commands can't be carried out."""
APPLICATIONS: Final = "applications"
"""Who accepts it knows all of wire/applications.py: Request says whose it is, and each application
has a node. To others there is one, the browser, which has the documents of all."""
DECISIONS: Final = "decisions"
"""Who accepts it is told by Decisions what was decided about its pictures."""
STOPPED: Final = "stopped"
"""The remote that accepts it goes on with a picture that was stopped at a coarse level
(Continuation.level)."""
TIMELY: Final = "timely"
"""The remote that accepts it obeys rules with a time (policies.api.plan.Rule.within); the device
that does is told by TooSoon which of them can't be kept."""
TREE: Final = "tree"
"""The remote that accepts it answers LookAtTree."""
DICTIONARIES: Final = "dictionaries"
"""The remote that accepts it may be told by Request.dictionaries what the device has, and codes
texts against that. The device that accepts it keeps texts, so that the remote may, too."""
RESERVES: Final = "reserves"
"""The remote that accepts it obeys Reserve, and rules about what is played while it comes
(policies.api.plan, Rule.steady); the device that does is told by Guaranteed what becomes of it."""
GIVES_WAY: Final = "gives-way"
"""The remote that accepts it obeys GiveWay."""
ASKED_FOR: Final = "asked-for"
"""The remote that accepts it is told by AskedFor what browsers ask for before it is there."""
PLACED: Final = "placed"
"""The remote that accepts it may be asked by Takes.PLACE where in its document a picture stands,
and told so by Continuation.part of what was asked for, too."""
PACED: Final = "paced"
"""Who accepts it is told by a flag of each quantum whether it was sent as fast as the link is said
to carry (wire/frames.py): if it comes slower, the link has become so."""
SIMILAR: Final = "similar"
"""The remote that accepts it obeys rules that want pictures alike (policies.api.plan,
Rule.similar)."""
GOES_ON: Final = "goes-on"
"""The remote that accepts it obeys Fetch.goes_on."""
PREFLIGHTS: Final = "preflights"
"""The remote that accepts it obeys Takes.PREFLIGHT."""
CODED_BODIES: Final = "coded-bodies"
"""The remote that accepts it undoes Takes.CODED."""
MAX_CODED: Final = 4 << 20
"""Bytes that a coded body stands for at most; its length is announced, so that a few bytes of a
hostile device can't have the remote send an origin gigabytes."""
FIELDS: Final = "fields"
"""Who accepts it keeps TABLE bytes of fields that were said (RFC 7541, 4.2), and is given a cookie
in its parts (RFC 9113, 8.2.3)."""
TABLE: Final = 16_384
"""Four times what browsers keep for a server: here one table serves all of a page's servers."""
APART: Final = "cells"
"""The device that accepts it reads cells in whatever order they come (transport/stream/cell.py):
over paths the remote fills what each is asked for when it goes."""


class Takes(IntFlag):
    """What a client takes besides a response's head and body."""

    NOTHING = 0
    HINTS = 1
    """Interim responses (RFC 9110, 15.2)."""
    TRAILERS = 2
    """Fields behind the body (RFC 9110, 6.5)."""
    PACKAGE = 4
    """An office document in parts (Package)."""
    INLINE = 8
    """With PACKAGE: only of a response that is to be shown and may be changed on its way."""
    VIEWS = 16
    """With PACKAGE: a view of texts in front of texts that are long (Slice.view)."""
    EXACT = 32
    """With PACKAGE: pictures coded as EXACT."""
    LEVEL = 64
    """One level of a picture in its place: what no page shows is a file all the same."""
    PLACE = 128
    """To be told by a Skeleton where in its document it stands. Only of who accepts it (PLACED)."""
    STANDS = 256
    """With PLACE: a picture that a script has made stands in an <img>, and may be coarse there
    before it is fine. Who does not know of this sends what it would have sent."""
    SCRIPTS = 512
    """Of a page: to be told by Script what the scripts that its markup names can do."""
    CAMERAS = 1024
    """Of a page: sketches of pictures of 8 to 25 million pixels, too large for older devices."""
    OWN_WHOLE = 2048
    """Of a page: a service worker takes pictures of its own origin, and keeps them. They have no
    levels."""
    MOVED = 4096
    """Of a page: where it has moved within its site, the page that it leads to may be promised as a
    part of its document, and takes its place."""
    PREFLIGHT = 8192
    """A script's request of another origin, which is to be asked for leave first: for what, its
    fields say as a preflight's do (web/cors.py). Only of who accepts it (PREFLIGHTS)."""
    CODED = 16384
    """The request's body crosses the link coded as texts are (transcoders/text.py); its fields say
    what the origin is to get, and how long it is. Only of who accepts it (CODED_BODIES)."""


OF_PAGES: Final = Takes.SCRIPTS | Takes.CAMERAS | Takes.OWN_WHOLE | Takes.MOVED
"""What is said of a page, and holds for one that it leads to."""
