"""Who does the blocks: this process, one after the other, or the workers of a Dask cluster."""

from __future__ import annotations

import secrets
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from joblib import cpu_count

from .._progress import progress, timing
from ..codes.working_set import Dictionary
from .mapped import MappedAtoms
from .run_directory import Arrays, RunDirectory, block_name
from .sources import DaskSource, Source
from .tasks import Block, Task, dictionary_of, forget, run_there

_RETRIES = 10
"""Times that one block may be lost with what it needs before that is taken for its own fault."""
_QUEUED = 2
"""Blocks handed out per thread of the cluster: one under way, one waiting."""

Given = Callable[[Block], Arrays]


class Engine(Protocol):
    """Does blocks."""

    dictionary: Dictionary
    """The atoms, here."""

    def run(self, task: Task, blocks: list[Block], phase: str, given: Given) -> Iterator[Block]:
        """Do all blocks, write what comes out into the run's directory, yield each that is done."""

    def close(self) -> None:
        """Let go of what the runs have left in memory elsewhere."""


class Here:
    """Blocks in this process, one after the other, each on all threads."""

    def __init__(self, atoms: np.ndarray | MappedAtoms, directory: RunDirectory) -> None:
        self.dictionary = dictionary_of(atoms)
        self._directory = directory

    def run(self, task: Task, blocks: list[Block], phase: str, given: Given) -> Iterator[Block]:
        """As `Engine.run`."""
        for block in blocks:
            with progress(None), timing():  # a block's own stages are of no interest
                arrays = task.work(self.dictionary, block.targets(self.dictionary), given(block))
            self._directory.write(block_name(phase, block.start), arrays)
            yield block

    def close(self) -> None:
        """Nothing to do."""


class Cluster:
    """The workers of a Dask cluster.

    Each gets the atoms once. A block is handed out when another comes back, so workers that come are used and those
    that go cost what they had under way. Where workers see the run's directory they write their results there.
    """

    def __init__(
        self,
        client: Any,
        token: str,
        atoms: np.ndarray | MappedAtoms,
        directory: RunDirectory,
        sources_travel: bool,
    ) -> None:
        self.dictionary = dictionary_of(atoms)
        self._client = client
        self._token = token
        self._atoms = atoms
        self._directory = directory
        self._travel = sources_travel
        self._scattered: Any = None

    def run(self, task: Task, blocks: list[Block], phase: str, given: Given) -> Iterator[Block]:
        """As `Engine.run`."""
        from distributed import as_completed
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        waiting = list(reversed(blocks))
        lost = dict.fromkeys((block.start for block in blocks), 0)
        under_way: dict[Any, Block] = {}
        done = as_completed(loop=self._client.loop)
        try:
            while waiting or under_way:
                while waiting and len(under_way) < self._places():
                    block = waiting.pop()
                    future = self._submit(task, block, phase, given)
                    under_way[future] = block
                    done.add(future)
                future = next(done)
                block = under_way.pop(future)
                try:
                    arrays = future.result()
                except (FutureCancelledError, KilledWorker):
                    # Its workers died, or the last that held the atoms did.
                    lost[block.start] += 1
                    if lost[block.start] > _RETRIES:
                        raise
                    self._scattered = None
                    waiting.append(block)
                    continue
                name = block_name(phase, block.start)
                if arrays is not None:
                    self._directory.write(name, arrays)
                yield block
        finally:
            self._client.cancel(list(under_way))

    def close(self) -> None:
        """As `Engine.close`; workers that are gone have nothing left."""
        self._scattered = None
        with suppress(OSError, TimeoutError):
            self._client.run(forget, self._token, on_error="ignore")

    def _places(self) -> int:
        """Return how many blocks may be handed out now."""
        return max(1, _QUEUED * sum(self._client.nthreads().values()))

    def _submit(self, task: Task, block: Block, phase: str, given: Given) -> Any:
        if self._scattered is None:
            try:
                self._scattered = self._client.scatter(self._atoms, broadcast=True, hash=False)
            except TimeoutError as error:
                msg = (
                    "the Dask cluster has lost all its workers: start others and fit again (run_dir keeps what is done)"
                )
                raise ValueError(msg) from error
        rows: Any = None
        if block.source is not None and not self._travel:
            if isinstance(block.source, DaskSource):
                # Computed there, and kept only until the block is done.
                lazy = block.source.rows(block.start, block.stop)
                rows = self._client.compute(lazy)
            else:
                rows = block.source.read(block.start, block.stop)
            block = replace(block, source=None)
        directory = (block_name(phase, block.start), str(self._directory.path.resolve()))
        return self._client.submit(
            run_there,
            task,
            self._token,
            self._scattered,
            block,
            rows,
            given(block),
            directory,
            pure=False,
            key=f"l0graph-{phase}-{block.start}-{secrets.token_hex(6)}",
        )


def nothing_given(block: Block) -> Arrays:
    """Say that a task needs nothing of an earlier phase."""
    del block
    return {}


@dataclass(frozen=True)
class Machine:
    """Where a worker runs, and what it can do."""

    host: str
    cores: int
    version: str
    reads: bool
    """Whether it can read the source."""


def inspect_workers(client: Any, source: Source) -> tuple[int, bool]:
    """Return a worker thread's share of its machine's cores, the smallest of all, and whether all can read the source.

    Raises where the workers could not do what this process would.
    """
    threads = client.nthreads()
    if not threads:
        msg = "the Dask cluster has no workers: start one with dask worker ADDRESS --nthreads 1"
        raise ValueError(msg)
    try:
        machines: dict[str, Machine] = client.run(_look_around, source if source.travels else None)
    except ImportError as error:
        msg = f"the Dask workers cannot import l0graph ({error}): install it there"
        raise ValueError(msg) from error
    for address, machine in machines.items():
        if machine.version != _version():
            msg = f"the Dask worker {address} has l0graph {machine.version}, not {_version()} as here"
            raise ValueError(msg)
    on_host: Counter[str] = Counter()
    for address, machine in machines.items():
        on_host[machine.host] += threads.get(address, 1)
    share = min(machine.cores // on_host[machine.host] for machine in machines.values())
    return max(1, share), source.travels and all(machine.reads for machine in machines.values())


def _look_around(source: Source | None) -> Machine:
    reads = False
    if source is not None:
        with suppress(OSError, ValueError, ImportError):
            source.read(0, 1)
            reads = True
    return Machine(socket.gethostname(), int(cpu_count()), _version(), reads)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("l0graph")
    except PackageNotFoundError:
        return "of a source tree"
