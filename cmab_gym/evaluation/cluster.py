"""Play batches on a Dask cluster; a worker that dies costs time, and no result."""

from __future__ import annotations

import asyncio
import site
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import cloudpickle

from cmab_gym.agents.make import without_file
from cmab_gym.evaluation.play import Batch, OnProgress, play
from cmab_gym.evaluation.results import AgentRun
from cmab_gym.evaluation.workers import without_result
from cmab_gym.versions import version_of

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT_SECONDS = 20


@contextmanager
def connected(address: str) -> Iterator[tuple[Client, int]]:
    """Connect to a Dask scheduler, and check that its workers can play.

    Args:
        address: as `dask scheduler` prints it ("tcp://host:8786").

    Yields:
        The connection, and the number of the workers' threads.

    Raises:
        ValueError: Dask is not installed, nobody answers, there is no worker, or a worker has no
            cmab-gym or other versions than this process, so that its numbers might differ.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError(
            f"scheduler={address!r} needs Dask ({error}): pip install 'cmab-gym[distributed]'"
        ) from error
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"scheduler={address!r} does not answer ({error}): expected the address that "
            "`dask scheduler` prints, such as tcp://host:8786"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except (TimeoutError, asyncio.TimeoutError) as error:  # two until Python 3.11
            raise ValueError(
                f"scheduler={address!r} has no workers: start some by `dask worker {address}`"
            ) from error
        _check_versions(client)
        # None, if they have just died: then they are about to come again.
        yield client, sum(client.nthreads().values()) or 1


def play_on_cluster(
    client: Client, batches: Sequence[Batch], progress: OnProgress | None = None, env: Any = None
) -> Iterator[AgentRun]:
    """Play on the cluster's workers.

    A batch whose worker dies is played again by another. One whose workers have died several times
    (`distributed.scheduler.allowed-failures`) is set aside and played alone at the end, since its
    neighbours may have been the reason; if its worker dies again, the agent has failed.

    Raises:
        ValueError: an agent or a setting cannot be sent.
    """
    from distributed import KilledWorker

    killed = []
    for batch, outcome in _played(client, batches):
        if isinstance(outcome, KilledWorker):
            killed.append(batch)
            continue
        yield _curves(batch, outcome, progress)
    failed: set[str] = set()
    for batch in killed:
        if batch.label not in failed:
            for _, outcome in _played(client, [batch]):
                curves = _curves(batch, outcome, progress)
            failed |= {batch.label} if curves.failure else set()
            yield curves


def _played(
    client: Client, batches: Sequence[Batch]
) -> Iterator[tuple[Batch, AgentRun | BaseException]]:
    from distributed import as_completed

    with _own_code_by_value():
        packed = [_packed(batch) for batch in batches]
    # pure=False: each batch is played, whatever Dask has seen before.
    futures = [client.submit(play_packed, each, pure=False) for each in packed]
    left = dict(zip(futures, batches, strict=True))
    try:
        for future in as_completed(futures, loop=client.loop):
            yield left.pop(future), _outcome(future)
    finally:
        client.cancel(list(left))


def _outcome(future: Future) -> AgentRun | BaseException:
    """Fetch a result; it may be lost, and played again, between its end and this."""
    try:
        curves: AgentRun = future.result()
    except (Exception, asyncio.CancelledError) as error:
        return error
    return curves


def _curves(
    batch: Batch, outcome: AgentRun | BaseException, progress: OnProgress | None
) -> AgentRun:
    if isinstance(outcome, BaseException):
        why = f"not played on the cluster: {type(outcome).__name__}: {outcome}"
        return without_result(batch, why)
    if progress is not None:
        progress(len(batch.trials) * batch.checkpoints[-1])
    return outcome


def play_packed(packed: bytes) -> AgentRun:
    """Unpack a batch and play it: what a worker does."""
    batch: Batch = cloudpickle.loads(packed)
    return play(batch)


def _packed(batch: Batch) -> bytes:
    try:
        packed: bytes = cloudpickle.dumps(replace(batch, make=without_file(batch.make)))
    except Exception as error:
        raise ValueError(
            f"agent {batch.label!r} on {batch.spec.id} cannot be sent to the cluster ({error}): "
            "expected what can be pickled; play it here, without a scheduler"
        ) from error
    return packed


@contextmanager
def _own_code_by_value() -> Iterator[None]:
    """Let the user's own classes and functions travel with what is packed.

    Installed packages go by name, as does whatever is imported only while playing.
    """
    places = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    installed = [Path(each).resolve() for each in (*places, *site.getsitepackages())]
    own = [module for module in list(sys.modules.values()) if _is_own(module, installed)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


def _is_own(module: ModuleType, installed: Sequence[Path]) -> bool:
    file, name = getattr(module, "__file__", None) or "", getattr(module, "__name__", "")
    if not file.endswith(".py") or name.partition(".")[0] in ("cmab_gym", "__main__"):
        return False
    path = Path(file).resolve()
    known = sys.modules.get(name) is module
    return known and not any(path.is_relative_to(folder) for folder in installed)


def _check_versions(client: Client) -> None:
    here = _versions()
    try:
        there = client.run(_versions)
    except ImportError as error:
        raise ValueError(f"a worker cannot import cmab-gym ({error}): install it there") from error
    for worker, versions in there.items():
        for name, found in versions.items():
            if found != here[name]:
                raise ValueError(
                    f"worker {worker} has {name} {found}, and this process {here[name]}: expected "
                    "the same, so that the numbers are"
                )


def _versions() -> dict[str, str]:
    python = ".".join(str(part) for part in sys.version_info[:2])
    packages = {name: version_of(name) for name in ("cmab-gym", "numpy")}
    return {"Python": python, **packages}
