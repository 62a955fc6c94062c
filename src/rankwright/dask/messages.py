"""Messages to workers, past the scheduler where workers can be reached."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from distributed import Client

_PATIENCE = 5  # seconds in which a worker can be reached, if it can
_reached: WeakKeyDictionary[Client, dict[str, bool]] = WeakKeyDictionary()  # whether workers can be reached from here


def talk(client: Client, operation: str, contents: Mapping[str, bytes]) -> list[bytes]:
    """What workers answer, each to a content of its own; those that are lost answer nothing."""
    found: list[Any] = client.sync(_all, client, operation, contents)
    for answer in found:
        if isinstance(answer, BaseException) and not isinstance(answer, OSError):
            raise answer
    return [answer for answer in found if isinstance(answer, bytes)]


async def _all(client: Client, operation: str, contents: Mapping[str, bytes]) -> list[Any]:
    asked = {
        worker: asyncio.ensure_future(_asked(client, worker, operation, content))
        for worker, content in contents.items()
    }
    try:
        while (await asyncio.wait(asked.values(), timeout=_PATIENCE))[1]:
            there = await client.scheduler.ncores()
            for worker, answer in asked.items():
                if worker not in there and not answer.done():
                    answer.cancel()  # it hangs, or is cut off: the scheduler has given it up
        return [OSError() if each.cancelled() else each.exception() or each.result() for each in asked.values()]
    finally:
        for answer in asked.values():
            answer.cancel()


async def _asked(client: Client, worker: str, operation: str, content: bytes) -> Any:
    if await _reaches(client, worker):
        return await getattr(client.rpc(worker), operation)(content=content)
    return await client.scheduler.proxy(worker=worker, msg={"op": operation, "content": content})


async def _reaches(client: Client, worker: str) -> bool:
    """Whether this process can talk to a worker: where it cannot, the scheduler passes messages on."""
    known = _reached.setdefault(client, {})
    if worker not in known:
        try:
            await asyncio.wait_for(client.rpc(worker).identity(), _PATIENCE)
            known[worker] = True
        except (OSError, TimeoutError):
            known[worker] = False
    return known[worker]
