"""Which cluster it is, and whether its workers have the same Rankwright."""

from __future__ import annotations

import asyncio
import atexit
import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from distributed import Client, LocalCluster, Security
from distributed.comm import connect as comm_to

from rankwright._version import __version__
from rankwright.clusters.interrupts import interrupted_later
from rankwright.errors import ParameterError

_PATIENCE = 60  # seconds in which a cluster may have no workers
_clients: dict[str, Client] = {}  # by the address of their scheduler


def connect(client: Client | str | None) -> Client:
    """The client of a cluster all of whose workers have this version of Rankwright."""
    if isinstance(client, str):
        client = _client_at(client)
    if client is None:
        with interrupted_later():
            client = _current_client() or _own_client()
    if not isinstance(client, Client):
        raise ParameterError(f"client must be a distributed.Client or an address, not {type(client).__name__}")
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise ParameterError(f"client: the cluster has had no workers for {_PATIENCE} seconds") from None
    _check_versions(client)
    return client


def _client_at(address: str) -> Client:
    """One for each address: what two clients have made cannot be put together."""
    client = _clients.get(address)
    if client is None or client.status != "running":
        try:
            _look_for(address)  # a client that finds none would hold the program up
            client = _clients[address] = Client(address, set_as_default=False, timeout="10s")
        except (OSError, ValueError) as error:
            raise ParameterError(f"client: there is no Dask scheduler at {address!r}: {error}") from None
    return client


def _look_for(address: str) -> None:
    async def look() -> None:
        comm = await comm_to(address, timeout=10, **Security().get_connection_args("client"))
        await comm.close()

    with ThreadPoolExecutor(1) as elsewhere:  # as this thread may have an event loop, in notebooks
        elsewhere.submit(asyncio.run, look()).result()


def _current_client() -> Client | None:
    try:
        return Client.current()
    except ValueError:
        return None


@lru_cache(maxsize=1)
def _own_client() -> Client:
    """A cluster of this machine, as long as the program runs: nothing of it listens on other than loopback."""
    n_workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    workers = {"n_workers": n_workers, "threads_per_worker": 1, "memory_limit": 0}
    cluster = LocalCluster(host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50, **workers)
    client = Client(cluster, set_as_default=False)
    atexit.register(shutdown)
    return client


def shutdown() -> None:
    """End the cluster that was started here, if one was, and leave those whose addresses were given."""
    while _clients:
        _clients.popitem()[1].close()
    if _own_client.cache_info().currsize:
        client = _own_client()
        _own_client.cache_clear()
        client.close()
        client.cluster.close()


def _check_versions(client: Client) -> None:
    def version() -> str | None:  # sent as it is: a worker may have nothing that it could be imported from
        from importlib import import_module

        try:
            return str(import_module("rankwright").__version__)
        except ImportError:
            return None

    for worker, found in client.run(version).items():
        if found != __version__:
            raise ParameterError(other_version(worker, found, __version__))


def other_version(worker: str, found: str | None, version: str) -> str:
    """What is told of a worker that has another version than the program."""
    has = "no Rankwright" if found is None else f"Rankwright {found}"
    return f"worker {worker} has {has}, but this process has {version}: install that version on all workers"
