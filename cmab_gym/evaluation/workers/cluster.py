"""Run batches on a Dask cluster; a worker that dies costs time, but no result."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from types import ModuleType
from typing import TYPE_CHECKING, Any

import cloudpickle

from cmab_gym.agents.make import without_file
from cmab_gym.evaluation.playing.batch import Batch, run_batch
from cmab_gym.evaluation.playing.progress import OnBatch
from cmab_gym.evaluation.results.agent_run import AgentRun
from cmab_gym.evaluation.workers.local import ended, run_in_processes
from cmab_gym.extras import how_to_install
from cmab_gym.user_code import is_of_user
from cmab_gym.versions import version_of

if TYPE_CHECKING:
    from distributed import Client, Future, Queue

LISTEN_SECONDS = 5.0  # how long to try an address at which nothing listens: it may be starting
CONNECT_SECONDS = 20
WARN_SECONDS = 5.0  # without workers before a warning: restarting one takes a few seconds
_CLOSE_SECONDS = 5.0
_LOOK_SECONDS = 1.0  # without a result, between looks at the workers

_log = logging.getLogger(__name__)


@contextmanager
def connected(address: str, wait: float) -> Iterator[tuple[Client, int]]:
    """Connect to a Dask scheduler, and check that its workers can run batches.

    Args:
        address: as `dask scheduler` prints it ("tcp://host:8786").
        wait: seconds to wait for the first worker.

    Yields:
        The connection, and the number of the workers' threads.

    Raises:
        ValueError: Dask is not installed, the scheduler does not answer, it has no worker, or a
            worker has no cmab-gym or other versions than this process, so that its numbers might
            differ.
    """
    client = _client(address)
    try:
        try:
            client.wait_for_workers(1, timeout=wait)
        except (TimeoutError, asyncio.TimeoutError) as error:  # two until Python 3.11
            raise ValueError(
                f"scheduler={address!r} has no workers: start some with `dask worker {address}`"
            ) from error
        _check_versions(client)
        # 0 if the workers have just died: they may come back.
        yield client, sum(client.nthreads().values()) or 1
    finally:
        _close(client)


def _client(address: str) -> Client:
    try:
        from distributed import Client
        from distributed.comm import get_address_host_port
    except ImportError as error:
        raise ValueError(
            f"scheduler={address!r} needs Dask ({error}): {how_to_install('distributed')}"
        ) from error
    client = Client.__new__(Client)  # so that a client that cannot connect can be closed
    try:
        # Check the address first: a client with a malformed one stays open, and can block the start
        # of another client forever when it is garbage-collected.
        _wait_for_scheduler(address, *get_address_host_port(address))
        Client.__init__(client, address, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as error:  # of many classes, if something other than a scheduler answers
        _close(client)
        raise ValueError(
            f"scheduler={address!r} does not answer ({error}): expected the address that "
            "`dask scheduler` prints, such as tcp://host:8786"
        ) from error
    return client


def _wait_for_scheduler(address: str, host: str, port: int) -> None:
    """Wait until something listens at an address, and speaks first, as a scheduler does.

    A Dask client alone would try for much longer to connect, and wait for the first word without
    limit, for example from a scheduler that is stopped. It has a limit for the other protocols.

    Raises:
        OSError: nothing listened for `LISTEN_SECONDS`, or nothing came for `CONNECT_SECONDS`.
    """
    deadline = time.monotonic() + LISTEN_SECONDS
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=CONNECT_SECONDS)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            break
    with connection:
        if address.startswith("tcp:") or "://" not in address:
            try:
                connection.recv(1)
            except TimeoutError as error:
                raise TimeoutError(
                    f"it accepts connections, but sent nothing for {CONNECT_SECONDS:g} seconds"
                ) from error


def _close(client: Client) -> None:
    """Close a client; ignore errors of a dead scheduler, since all results have arrived."""
    try:
        client.close(timeout=_CLOSE_SECONDS)
    except Exception as error:
        _log.debug("closing the connection: %s", error)
    client.status = "closed"  # otherwise it reconnects when it is garbage-collected


def run_on_cluster(
    client: Client,
    wait_for_workers: float,
    batches: Sequence[Batch],
    progress: OnBatch | None = None,
    env: Any = None,
) -> Iterator[AgentRun]:
    """Run batches on the cluster's workers.

    If a worker dies, another one runs its batch. A batch whose workers have died several times
    (`distributed.scheduler.allowed-failures`) runs alone at the end, since another batch may have
    ended the workers; if its worker dies again, the agent fails. If there is no worker for
    `wait_for_workers` seconds, or the scheduler ends, all unfinished agents fail.

    Raises:
        ValueError: an agent or an environment cannot be sent.
    """
    from distributed import KilledWorker

    wait = _WaitForWorkers(client, wait_for_workers)
    killed = []
    for batch, outcome in _played(client, batches, wait):
        if isinstance(outcome, KilledWorker):
            killed.append(batch)
        else:
            yield _agent_run(batch, outcome, progress)
    failed: set[str] = set()
    for batch in killed:
        if batch.label not in failed:
            for _, outcome in _played(client, [batch], wait):
                run = _agent_run(batch, outcome, progress)
            failed |= {batch.label} if run.failure else set()
            yield run


class _WaitForWorkers:
    """Notices that the cluster has lost all its workers, and ends the wait for new ones."""

    def __init__(self, client: Client, seconds: float) -> None:
        self._client, self._seconds = client, seconds
        self._address = client.scheduler.address
        self._lost_at: float | None = None
        self._warned = False

    def is_over(self, batches: Collection[Batch]) -> bool:
        """Return whether there was no worker for `seconds`; warn after `WARN_SECONDS`."""
        if self._has_workers():
            self._lost_at, self._warned = None, False
            return False
        now = time.monotonic()
        if self._lost_at is None:
            self._lost_at = now
        waited = now - self._lost_at
        if waited >= WARN_SECONDS and not self._warned:
            _log.warning(
                "no worker is left at %s: waiting %g s for one; batches left: %d, first of %s",
                *(self._address, self._seconds, len(batches), next(iter(batches)).who()),
            )
            self._warned = True
        return waited >= self._seconds

    def _has_workers(self) -> bool:
        try:
            return bool(self._client.nthreads())
        except Exception:  # of many classes, when the scheduler does not answer
            return False

    def error(self) -> TimeoutError:
        """Describe the end of the wait."""
        return TimeoutError(
            f"no worker for {self._seconds:g} s: start some with `dask worker {self._address}`,"
            " and run it again"
        )


def _played(
    client: Client, batches: Sequence[Batch], wait: _WaitForWorkers
) -> Iterator[tuple[Batch, AgentRun | BaseException]]:
    """Run batches; yield each with its result, or with the reason why it has none."""
    from distributed import Queue

    with _own_code_by_value():
        packed = [_packed(batch) for batch in batches]
    left, futures = dict(enumerate(batches)), {}
    try:
        results = Queue(client=client)
        for place, each in enumerate(packed):
            # pure=False: run every batch, even if Dask remembers the result of an equal one.
            futures[place] = client.submit(run_packed, each, place, results.name, pure=False)
    except Exception as failure:  # of many classes, once the scheduler has ended
        yield from ((left.pop(place), failure) for place in range(len(futures), len(batches)))
    done: SimpleQueue[tuple[int, BaseException | None]] = SimpleQueue()
    for place, future in futures.items():
        future.add_done_callback(lambda future, place=place: done.put((place, _error(future))))
    try:
        while left:
            ended, error = _next(done)
            if not isinstance(error, asyncio.CancelledError):  # then the scheduler has ended
                for place, run in _arrived(results):
                    if place in left:  # it may have run twice
                        futures[place].cancel()
                        yield left.pop(place), run
            if ended in left:
                yield left.pop(ended), error or RuntimeError("the scheduler has lost its result")
            elif ended is None and left and wait.is_over(left.values()):
                yield from ((batch, wait.error()) for batch in left.values())
                break
    finally:
        with suppress(Exception):  # the scheduler may have ended
            client.cancel([futures[place] for place in left])
            results.close()


def _next(
    done: SimpleQueue[tuple[int, BaseException | None]],
) -> tuple[int | None, BaseException | None]:
    """Return the next batch that ended, and why it failed; nothing after a while."""
    try:
        return done.get(timeout=_LOOK_SECONDS)
    except Empty:
        return None, None


def _error(future: Future) -> BaseException | None:
    """Return why a batch has no result; None if its result is at the scheduler."""
    if future.status == "finished":
        return None
    try:
        future.result()
    except (Exception, asyncio.CancelledError) as error:
        return error
    return None


def _arrived(results: Queue) -> Iterator[tuple[int, AgentRun]]:
    """Take the results that workers have sent to the scheduler."""
    try:
        packed = results.get(batch=True)
    except Exception:  # of many classes, once the scheduler has ended
        return
    yield from map(cloudpickle.loads, packed)


def _agent_run(
    batch: Batch, outcome: AgentRun | BaseException, progress: OnBatch | None
) -> AgentRun:
    if isinstance(outcome, BaseException):
        reason = f"not finished on the cluster: {type(outcome).__name__}: {outcome}"
        failure = f"{batch.who()}: {reason}"
        outcome = AgentRun.failed(batch.label, failure, first_trial=batch.trials.start)
    if progress is not None:
        progress(ended(batch, outcome))
    return outcome


def run_packed(packed: bytes, place: int, queue: str) -> None:
    """Unpack a batch and run it, on a worker, and send the result to the scheduler.

    The worker goes on when the result is there: whatever ends the worker then, the result is safe.
    """
    from distributed import Queue

    batch: Batch = cloudpickle.loads(packed)
    if batch.timeout is None:
        run = run_batch(batch).to_send()
    else:  # in a process of its own, which can be ended
        (run,) = run_in_processes(1, [batch])
    results = Queue(queue)
    results.put(cloudpickle.dumps((place, run)))
    results.close()  # the client still holds it, so its content stays


def _packed(batch: Batch) -> bytes:
    try:
        packed: bytes = cloudpickle.dumps(replace(batch, make=without_file(batch.make)))
    except Exception as error:
        raise ValueError(
            f"{batch.who()} on {batch.spec.id} cannot be sent to the cluster ({error}): "
            "expected one that can be pickled; run it on this machine, without a scheduler"
        ) from error
    return packed


@contextmanager
def _own_code_by_value() -> Iterator[None]:
    """Pickle the user's own modules with their code, as the workers may not have them.

    Installed packages are pickled by name, and so are modules imported only during a run.
    """
    own = [module for module in list(sys.modules.values()) if _is_own(module)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


def _is_own(module: ModuleType) -> bool:
    file, name = getattr(module, "__file__", None) or "", getattr(module, "__name__", "")
    if not file.endswith(".py") or name == "__main__":
        return False
    return sys.modules.get(name) is module and is_of_user(file)


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
                    "equal versions, so that the numbers are equal"
                )


def _versions() -> dict[str, str]:
    python = ".".join(str(part) for part in sys.version_info[:2])
    packages = {name: version_of(name) for name in ("cmab-gym", "numpy")}
    return {"Python": python, **packages}
