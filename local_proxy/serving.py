"""Starts a local proxy as its settings say: with its policies, its authority and its store."""

from __future__ import annotations

from pathlib import Path

import structlog

from local_proxy.front.tls.authority import Authority, AuthorityError, NoPlaceError
from local_proxy.kept.store import LocalStore
from local_proxy.main import LocalProxy
from local_proxy.settings import ProxySettings
from policies.host.loader import load
from service.notify import ready

_log = structlog.get_logger("sluice.local")


def open_authority(settings: ProxySettings) -> Authority | None:
    """What vouches for https sites; None: no https is to be adapted, or it can't be kept here.

    Raises OSError where somebody must look at its files.
    """
    if "*" in settings.tunnel:
        return None
    try:
        authority = Authority.open(Path(settings.state))
    except NoPlaceError as error:
        _log.warning("https pages will not be adapted", why=str(error))
        return None
    except AuthorityError as error:
        raise OSError(str(error)) from error
    if authority.renewed:
        _log.warning(
            "the certificate authority was about to expire and was renewed; browsers must be told "
            "to trust it again",
            certificate=str(authority.certificate_path),
        )
    return authority


def composed(settings: ProxySettings) -> LocalProxy:
    """One with the policies and the authority that the settings name. Raises OSError, LoadError,
    PairingError, ClientsError."""
    policies = [load(name) for name in settings.policy]
    store = LocalStore(Path(settings.state))
    return LocalProxy(settings, policies, authority=open_authority(settings), store=store)


async def run(settings: ProxySettings) -> None:
    """Listen and serve until cancelled. Prints one line when ready.

    Raises OSError, LoadError, PairingError, ClientsError.
    """
    proxy = composed(settings)
    host, port = await proxy.listen()
    print(f"listening on {host}:{port}", flush=True)
    ready(f"serves browsers at {host}:{port}")
    await proxy.run()
