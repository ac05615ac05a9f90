"""Tells of one session's sound and films at which rates they are played."""

from __future__ import annotations

from collections.abc import Iterator

from remote_proxy.playing.manifests import Manifest
from remote_proxy.playing.played import DELAY, PlayedFile, PlayedRates
from remote_proxy.playing.playlists import Playlist
from scheduling.guarantees import Guarantees
from wire.fields import Headers
from wire.skeleton import Kind


class Playing:
    """Reads what passes by in a session; whether it has that rate is for the plan."""

    def __init__(self, guarantees: Guarantees) -> None:
        self._guarantees = guarantees
        self._rates = PlayedRates()

    def playlist(self, url: str, content_type: str) -> Playlist | Manifest | None:
        """Who is to read a text; None: it is neither playlist nor manifest."""
        return self._rates.playlist(url, content_type)

    def read(self, playlist: Playlist | Manifest | None) -> Iterator[None]:
        """All of it has passed. Between two steps others may have their turn."""
        return iter(()) if playlist is None else self._rates.read(playlist)

    def listen(self, component: int, url: str, kind: Kind, headers: Headers) -> PlayedFile | None:
        """Who is to see a response pass; None: it is not played, or its rate is known."""
        return self._rates.listen(
            *(url, kind, headers),
            wanted=lambda rate: self._guarantees.read(component, rate, DELAY),
        )
