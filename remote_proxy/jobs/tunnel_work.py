"""Carries what passes through unseen: a tunnel is a component too, opaque."""

from __future__ import annotations

import asyncio

from remote_proxy.jobs.job import Job
from remote_proxy.jobs.services import Sender, Services
from remote_proxy.jobs.way_out import WayOut
from remote_proxy.origin.tunnel import dial, pump
from transport.sending.talk import Talk


async def carry_tunnel(job: Job, way: WayOut, sender: Sender, services: Services) -> None:
    """Until both ends have closed it. Raises OriginError, StreamCut."""
    assert job.upload is not None
    origin, loop = services.origin, asyncio.get_running_loop()
    tls = origin.tls if job.request.tls else None
    reader, writer = await dial(job.request.url, origin.reach, device=sender.device, tls=tls)
    outgoing = way.open_tunnel()
    talk = Talk(now=loop.time())

    def coming(amount: int) -> None:
        talks = talk.say(amount, now=loop.time(), rate=sender.rate)
        sender.tree.set_talk(job.component, talks)

    try:
        await pump(reader, writer, job.upload, outgoing, coming=coming, count=sender.count)
    except OSError as error:
        way.fail(502, str(error))
