"""Several processes that are one node, as under torchrun: rank 0 speaks to the daemon, and all have
one segment mapped.

Replicas, as of DistributedDataParallel, take the parameters of the segment at each exchange; of a
sharded model each process reads and writes its own rows there. The processes talk over a group of
gloo of their own, whatever backend the gradients use.
"""
from __future__ import annotations

import contextlib
import datetime
import os
import sys
from typing import Any, Dict, List, Optional

from . import errors
from .segment import Segment
from .session import Session
from .wire import Record

# A process may wait for the network as long as it takes; one that dies is noticed at once.
_PATIENCE = datetime.timedelta(days=30)


class Group:
    """The processes of this node. Every method is called by all of them, in one order."""

    def __init__(self, distributed: Any) -> None:
        self._distributed = distributed
        self._handle = distributed.new_group(backend="gloo", timeout=_PATIENCE)
        self.rank: int = distributed.get_rank()
        self.size: int = distributed.get_world_size()

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def share(self, value: Any) -> Any:
        """What rank 0 hands over, in each process."""
        box = [value if self.leads else None]
        self._distributed.broadcast_object_list(box, src=0, group=self._handle)
        return box[0]

    def gather(self, value: Any) -> List[Any]:
        """At rank 0 the values of all, by rank; elsewhere nothing."""
        values: List[Any] = [None] * self.size if self.leads else []
        self._distributed.gather_object(value, values if self.leads else None, dst=0,
                                        group=self._handle)
        return values

    def wait(self) -> None:
        """Until all are here."""
        self._distributed.barrier(group=self._handle)


def group_of(wanted: Optional[bool]) -> Optional[Group]:
    """The processes that torch.distributed joins, if they are several; `wanted` False: none."""
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    is_joined = (distributed is not None and distributed.is_available()
                 and distributed.is_initialized() and distributed.get_world_size() > 1)
    if wanted and not is_joined:
        raise ValueError("group=True needs torch.distributed.init_process_group() before attach, "
                         "and more than one process")
    return Group(distributed) if is_joined and wanted is not False else None


def shared_segment(group: Group, entries: Any, **regions: Any) -> Segment:
    """The segment that rank 0 makes, mapped in each process."""
    if group.leads:
        segment = Segment(entries, **regions)
        group.share(f"/proc/{os.getpid()}/fd/{segment.descriptor}")
        group.wait()
        return segment
    path = group.share(None)
    try:
        return Segment(entries, path=path, **regions)
    except OSError as error:
        raise errors.Error(f"this process cannot open the memory of rank 0, {path}: {error}. The "
                           "processes of a node run on one machine, as one user") from None
    finally:
        group.wait()


class _Part:
    """What the sessions of all processes of a node do alike."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._descriptor = -1
        self.welcome: Record = {}

    def take_descriptor(self) -> int:
        """The file that came with the last order, for the caller to close; -1 if none did."""
        descriptor, self._descriptor = self._descriptor, -1
        return descriptor

    def delivered(self) -> None:
        """No process goes on before all have taken the parameters."""
        self._group.wait()


class Leader(_Part):
    """The session of rank 0, whose orders all processes get."""

    leads = True

    def __init__(self, group: Group, session: Session) -> None:
        super().__init__(group)
        self._session = session

    def begin(self, timeout: Optional[float] = None) -> Record:
        self._group.wait()  # until all have written what is theirs
        return self._spread(lambda: self._session.begin(timeout))

    def answer(self, done: Record, descriptor: Optional[int] = None) -> Record:
        merged = _merged(self._group.gather(done))
        return self._spread(lambda: self._session.answer(merged, descriptor))

    def tell(self, record: Record) -> None:
        self._session.tell(record)

    def close(self) -> None:
        self._session.close()

    def drop(self) -> None:
        self._session.drop()

    def _spread(self, ask: Any) -> Record:
        try:
            order = ask()
        except BaseException as error:
            self._group.share({"kind": "failed", "error": type(error).__name__,
                               "text": str(error)})
            raise
        self.welcome = self._session.welcome
        self._descriptor = self._session.take_descriptor()
        file = f"/proc/{os.getpid()}/fd/{self._descriptor}" if self._descriptor >= 0 else None
        self._group.share({**order, "welcome": self.welcome, "file": file})
        if file is not None:
            self._group.wait()  # until the others have opened it
        return order


class Follower(_Part):
    """What another process of the node has in the place of a session."""

    leads = False

    def begin(self, timeout: Optional[float] = None) -> Record:
        del timeout  # rank 0 waits
        self._group.wait()
        return self._follow()

    def answer(self, done: Record, descriptor: Optional[int] = None) -> Record:
        del descriptor  # rank 0 saves
        self._group.gather(done)
        return self._follow()

    def tell(self, record: Record) -> None:
        """Rank 0 tells."""

    def close(self) -> None:
        self.drop()

    def drop(self) -> None:
        with contextlib.suppress(OSError):
            if self._descriptor >= 0:
                os.close(self._descriptor)
        self._descriptor = -1

    def _follow(self) -> Record:
        order: Dict[str, Any] = self._group.share(None)
        if order["kind"] == "failed":
            kind = getattr(errors, order["error"], errors.Error)
            raise kind(f"at rank 0 of this node: {order['text']}")
        self.welcome = order.pop("welcome")
        path = order.pop("file")
        if path is not None:
            try:
                self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            finally:
                self._group.wait()
        return order


def _merged(parts: List[Record]) -> Record:
    """What the steps of all processes came to: samples add up, losses are averaged, and one
    refusal is enough."""
    done = dict(parts[0])
    losses = [part["loss"] for part in parts if part.get("loss") is not None]
    samples = [part["samples"] for part in parts if part.get("samples")]
    refusals = [part["refusal"] for part in parts if part.get("refusal")]
    if losses:
        done["loss"] = sum(losses) / len(losses)
    if samples:
        done["samples"] = sum(samples)
    if refusals:
        done["refusal"] = refusals[0]
    return done
