"""A training loop of the user's own as a node of the network: every H-th step exchanges."""
from __future__ import annotations

import collections
import math
import os
import threading
import time
import warnings
from typing import (Any, Collection, Deque, Dict, Iterable, Iterator, List, Mapping,
                    Optional, Sequence, Tuple, Union)

from .blas import reference_blas
from .errors import Error, Garbled
from .group import Follower, Group, Leader, group_of, shared_segment
from .keeper import Keeper
from .notes import take as take_notes, warn
from .position import Position, entry as position_entry
from .segment import Segment
from .session import Session
from .shares import share_of, size_of
from .status import Status
from .tensors import Tensors, hold
from .wire import Record, finite_only

LOSSES_KEPT = 16  # of the last steps, for the mean at an exchange; each holds its graph until then


class Swarm:
    """The network as the loop sees it. Made by `attach`; used by one thread."""

    def __init__(self, tensors: Tensors, segment: Segment,
                 session: Union[Session, Leader, Follower], keeper: Keeper,
                 group: Optional[Group] = None) -> None:
        self._tensors = tensors
        self._segment = segment
        self._session = session
        self._keeper = keeper
        self._group = group
        self._progress = segment.progress
        # Of several processes the first keeps the place in the data.
        self._position = Position.of(segment) if session.leads else Position()
        self._loaders = 0  # that batches() goes through now
        self._losses: Deque[Any] = collections.deque(maxlen=LOSSES_KEPT)
        self._steps = 0
        self._left = 0  # steps until the next exchange
        self._taken = self._left_out = 0  # steps since the last exchange; left out: by step()
        self._told_samples = 0  # by step(), since the last exchange
        self._seen_samples = 0  # by batches(), since the last exchange
        self._order: Record = {}
        self._nodes_first = 0  # by the first order; 0: none has come
        self._busy = threading.Lock()  # in an exchange
        self._exchanges = 0
        self._waited_seconds = 0.0
        self._warned_of_refusal = False
        self.end_reason: Optional[str] = None

    def step(self, loss: Any = None, samples: int = 0, progress: Optional[int] = None,
             taken: Optional[bool] = None) -> bool:
        """Counts one step of the optimizer; every H-th call exchanges parameters and waits for it,
        and so does the next one when the run ends.

        `loss` is converted at exchanges only. `samples` are those of this step; those of batches()
        are counted without it. `progress` replaces the count of steps as the sign of life. `taken`
        False says that the step was left out, and nothing is corrected for it; the optimizers of
        attach() count their steps themselves. False once the run is over. Raises DaemonGone or
        Refused.
        """
        if loss is not None:
            self._losses.append(loss)
        self._told_samples += samples
        self._steps += 1
        self._progress[0] = self._steps if progress is None else progress
        self._left -= 1
        self._taken += self._tensors.shift(taken)
        if taken is False:
            self._left_out += 1
        if self._left > 0 and not self._is_over():
            return True
        return self._exchange()

    def alive(self) -> None:
        """A sign of life within a step that takes long."""
        self._progress[0] += 1

    def batches(self, loader: Iterable[Any], own: bool = False, seed: int = 0,
                whole: bool = False) -> Iterator[Any]:
        """The batches that are this node's share, again and again until the run is over.

        Of a DataLoader that goes through its samples in order or shuffled, the nodes take the next
        batch in turn, in one order, drawn from `seed`; of one with a sampler of its own,
        the samples whose number is `place` modulo `nodes`; of anything else, the batches in turn.
        With `own` the loader holds what is this node's alone, and all of its batches are the share.
        With `whole` the batch_size of the DataLoader is that of all nodes together: each takes its
        part of it, so that the batch of the whole stays as nodes come and go.
        A trainer that comes back goes on at the batch after those that its parameters have seen.
        The place of one loader is kept: of the first, where there are several at once.
        """
        if not self.is_running:
            warn("the run is over, and batches() gives none; it goes over the data again and again "
                 "by itself, in the place of a loop over epochs (swarm.status.epoch)", 2)
            return
        place = (lambda: self._share(0, 1)) if own else (
            lambda: self._share(self._place(), self._nodes()))
        position = Position() if self._loaders else self._position
        self._loaders += 1
        try:
            for batch in share_of(loader, place, position, seed, whole):
                self._seen_samples += size_of(batch)
                yield batch
                if not self.is_running:
                    return
        finally:
            self._loaders -= 1

    def log(self, **metrics: float) -> None:
        """Tells the daemon numbers by name; `loss`, `accuracy` (0 to 1) and `rmse` are taken for
        evaluations of the model. Numbers that are not finite are left out."""
        numbers = finite_only({name: float(value) for name, value in metrics.items()})
        if numbers:
            self._session.tell({"kind": "log", "metrics": numbers})

    def correct(self, gradients: Mapping[str, Any]) -> Mapping[str, Any]:
        """Adds the correction, where the algorithm has one, in place to the gradients by name.

        For loops without an optimizer of torch, which attach(corrects=True); once each step.
        """
        return self._tensors.correct(gradients)

    def close(self) -> None:
        """Leaves in order. The tensors keep their values; closing twice does no harm."""
        self._stop("closed by the trainer")
        self._session.close()

    @property
    def tensors(self) -> Dict[str, Any]:
        """The tensors by name. Arrays of numpy alias the segment: write into them in place."""
        return self._tensors.arrays

    @property
    def learning_rate(self) -> Optional[float]:
        """Of the loop's steps, as the daemon is told: of the first group of the optimizer, or what
        attach() was told. A loop that has no optimizer of torch sets it when it changes."""
        return self._tensors.learning_rate

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._tensors.learning_rate = float(rate)

    @property
    def round(self) -> int:
        """Of the network, that is under way: the same on all nodes, whenever one began."""
        return int(self._order.get("round", 0))

    def schedule(self, scheduler: Any) -> None:
        """Sets a scheduler of learning rates of PyTorch to the round, in the place of its step():
        the rate is then the same on all nodes, whenever one came or came back."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a place is given
            scheduler.step(self.round)

    @property
    def lr_scale(self) -> float:
        """The nodes that train now over those that trained when this trainer attached. Times the
        learning rate, it keeps this in proportion to the batch of all nodes as they come and go."""
        return self._nodes() / self._nodes_first

    @property
    def is_due(self) -> bool:
        """The next call of step() exchanges."""
        return self.is_running and (self._left <= 1 or self._is_over())

    @property
    def is_running(self) -> bool:
        return self.end_reason is None

    @property
    def status(self) -> Status:
        order, welcome = self._order, self._session.welcome
        return Status(
            node=str(welcome.get("node", "")), algorithm=str(welcome.get("algorithm", "")),
            round=self.round, place=self._place(), nodes=self._nodes(),
            local_steps=int(order.get("count", welcome.get("local_steps", 1))),
            learning_rate=order.get("learning_rate", welcome.get("learning_rate")),
            steps=self._steps, exchanges=self._exchanges, waited_seconds=self._waited_seconds,
            copied_bytes=self._tensors.copied_bytes, epoch=self._position.get()[0])

    def __enter__(self) -> "Swarm":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None:
            self._session.drop()  # the daemon learns that the trainer did not leave in order
        self.close()

    def begin(self, timeout: Optional[float]) -> None:
        """Waits until the values are those of the network; `attach` calls it."""
        self._follow(self._session.begin(timeout))

    def _is_over(self) -> bool:
        """Whether the run ends between two exchanges. Several processes of a node might see it at
        different steps: they go on to the exchange."""
        return self._group is None and self._segment.over[0] != 0

    def _exchange(self) -> bool:
        if not self.is_running:
            return False
        if not self._busy.acquire(blocking=False):
            raise Error("two threads call step() of one swarm at once; one thread uses a swarm")
        try:
            self._tensors.collect()
            done = self._done()
            self._tell_notes()
            began = time.perf_counter()
            order = self._session.answer(done)
            self._waited_seconds += time.perf_counter() - began
            self._exchanges += 1
            self._follow(order)
        finally:
            self._busy.release()
        return self.is_running

    def _tell_notes(self) -> None:
        for note in take_notes():
            self._session.tell({"kind": "note", "text": note})

    def _done(self) -> Record:
        """What this node's steps of the round came to."""
        losses = [float(loss) for loss in self._losses]
        self._losses.clear()
        mean = sum(losses) / len(losses) if losses else None
        done: Record = {"kind": "done", "job": self._order.get("job", 0),
                        "steps": self._taken, "left_out": self._left_out or None, "loss": mean,
                        "samples": self._told_samples or self._seen_samples or None,
                        "learning_rate": self.learning_rate}
        self._told_samples = self._seen_samples = self._taken = self._left_out = 0
        refusal = self._refusal(mean)
        if refusal is not None:
            self._tensors.forget_faults()
            done["refusal"] = refusal
        return done

    def _refusal(self, loss: Optional[float]) -> Optional[str]:
        """Why the network must not take these parameters, if there is a reason."""
        steps, reason = self._order["count"], None
        if loss is not None and not math.isfinite(loss):
            reason = f"the loss is {loss} after {steps} steps"
        else:
            name = self._tensors.fault()
            if name is not None:
                reason = f"{name} is not finite after {steps} steps"
        if reason is not None and not self._warned_of_refusal:
            self._warned_of_refusal = True
            warn(f"{reason} in round {self._order.get('round', 0)}; these steps are not shared, "
                 "and the loop goes on from the parameters of the network. A smaller learning rate "
                 "may help", 5)
        return reason

    def _follow(self, order: Record) -> None:
        """Takes the order up: the next steps, or the end."""
        while order["kind"] in ("save", "load"):
            order = self._save(order) if order["kind"] == "save" else self._load(order)
        if order["kind"] == "end":
            if order.get("model"):
                self._tensors.deliver(False)
            self._session.delivered()
            self._stop(str(order.get("reason", "the daemon gave no reason")))
            self._session.drop()
            return
        count = order.get("count")
        if order["kind"] != "step" or not isinstance(count, int) or count < 1:
            self._session.drop()
            raise Garbled(f"the daemon sent {order}; expected step with a count, or end")
        self._order = order
        self._nodes_first = self._nodes_first or self._nodes()
        self._left = count
        self._losses.clear()
        share = 1 / count if order.get("tracks") else 0.0
        self._tensors.deliver(bool(order.get("corrects")), share, bool(order.get("shifts")))
        if self._exchanges == 0 and not self._session.leads:
            self._position.set(*Position.of(self._segment).get())
        self._session.delivered()

    def _save(self, order: Record) -> Record:
        done: Record = {"kind": "done", "job": order.get("job", 0)}
        if not self._session.leads:
            return self._session.answer(done)
        try:
            descriptor = self._keeper.save()
        except (TypeError, OSError) as error:
            return self._session.answer({**done, "refusal": f"its state is not saved: {error}"})
        try:
            return self._session.answer(done, descriptor)
        finally:
            os.close(descriptor)

    def _load(self, order: Record) -> Record:
        done: Record = {"kind": "done", "job": order.get("job", 0)}
        descriptor = self._session.take_descriptor()
        try:
            self._keeper.load(descriptor, bool(order.get("own")))
        except (ValueError, OSError) as error:
            done["refusal"] = str(error)
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        return self._session.answer(done)

    def _stop(self, reason: str) -> None:
        if self.end_reason is None:
            self.end_reason = reason
        self._left = 0
        self._tensors.release()

    def _place(self) -> int:
        return int(self._order.get("place", 0))

    def _nodes(self) -> int:
        return max(1, int(self._order.get("nodes", 1)))

    def _share(self, place: int, nodes: int) -> Tuple[int, int]:
        """Of this process among those of all nodes, given the node's place among these."""
        if self._group is None:
            return place, nodes
        return place * self._group.size + self._group.rank, nodes * self._group.size


def attach(model: Any = None, optimizer: Any = None, *, tensors: Optional[Mapping[str, Any]] = None,
           samples: int = 0, socket: Optional[str] = None, wait: bool = False,
           timeout: Optional[float] = None, corrects: bool = False,
           steps: Optional[str] = None, learning_rate: Optional[float] = None,
           roles: Optional[Mapping[str, str]] = None, local: Collection[str] = (),
           keep: Sequence[Any] = (), trainable_only: bool = True,
           group: Optional[bool] = None) -> Swarm:
    """Attaches a loop to the daemon and waits until its tensors are those of the network.

    model      a torch module: its parameters are averaged, floating buffers too (`statistic`), and
               a newcomer takes integer buffers of its donor (`donor`). Tensors on the CPU of f32,
               f64 or i64 alias the shared memory; others are copied at each exchange.
    optimizer  of torch, or several in a list; their steps add the correction of algorithms that
               correct gradients.
    tensors    instead of a model: {name: array} of numpy or torch; Swarm.tensors alias the memory.
    samples    that this trainer holds, 0 where it does not know.
    socket     of the daemon; else $STARLING_SOCKET, else the only one there is.
    wait       for a daemon that is not there yet, or goes; else NotFound and DaemonGone are raised.
    timeout    in seconds, of attach itself; None waits for the network without end.
    corrects   the loop calls Swarm.correct() at every step.
    steps      what the loop's steps are, where the optimizer does not say, as torch.optim.SGD does:
               "sgd" (x -= rate * gradient) or "linear" in the gradients, as with a momentum. `ed`,
               `extra`, `pairwise-ed` and `qg` are refused to others.
    learning_rate  of the loop's steps, where the optimizer does not say; see Swarm.learning_rate.
    roles      {name: averaged | statistic | donor | local}, where another than that is meant.
    local      names of tensors that stay this node's own; here and in roles a name may be a
               pattern, as "ema.*".
    trainable_only  parameters of the model without requires_grad, such as those below adapters, are
               not exchanged; nodes whose frozen parameters differ refuse each other. With False
               they are averaged too, as is needed where they are trained later.
    group      whether the processes of torch.distributed are one node, whose rank 0 speaks to the
               daemon; None: where there are several. Each of them calls attach, step and close.
    keep       objects with state_dict() and load_state_dict(), such as a scheduler of learning
               rates. The daemon keeps their states, the optimizer's and torch's random numbers,
               and a trainer that comes back to it finds them again.

    Raises NotFound, Refused, DaemonGone, TimedOut; TypeError or ValueError for wrong arguments.
    """
    processes = group_of(group) if model is not None or tensors is not None else None
    optimizers = optimizers_of(optimizer)
    held = hold(model, optimizers, tensors, roles or {}, local,
                trainable_only and model is not None, processes)
    # Of a sharded model each process has a part of the optimizer's state only.
    slow = reference_blas()
    if slow is not None and os.environ.get("STARLING_SLOW_BLAS") != "fine":
        warn(slow, 2)
    keeper = Keeper([] if held.is_sharded else optimizers, keep)
    corrects, shifts = corrects or held.can_correct(), held.can_shift()
    if steps not in (None, "sgd", "linear"):
        raise ValueError(f"steps={steps!r}; expected 'sgd', 'linear' or None")
    if learning_rate is not None:
        held.learning_rate = float(learning_rate)
    hello = {"mode": "loop", "samples": int(samples), "corrects": corrects, "shifts": shifts,
             "saves": keeper.has_any,
             "optimizer": " and ".join(type(one).__name__ for one in optimizers),
             "steps": steps or held.steps() or ""}
    if not held.entries:
        raise ValueError("there is no tensor to train")
    entries = held.entries + [position_entry()]
    segment = (Segment(entries, corrects=corrects, shifts=shifts) if processes is None else
               shared_segment(processes, entries, corrects=corrects, shifts=shifts))
    held.bind(segment)

    def latest() -> Record:
        held.collect()
        return finite_only({"learning_rate": held.learning_rate})
    session: Union[Session, Leader, Follower]
    if processes is not None and not processes.leads:
        session = Follower(processes)
    else:
        session = Session(segment, hello, socket=socket, wait=wait, before_hello=latest)
        if processes is not None:
            session = Leader(processes, session)
    swarm = Swarm(held, segment, session, keeper, processes)
    try:
        swarm.begin(timeout)
    except BaseException:
        held.release()
        session.close()
        raise
    return swarm


def optimizers_of(optimizer: Any) -> List[Any]:
    """None, one or several; of those that Accelerate wraps, what they wrap."""
    several = list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
    return [one.optimizer if type(one).__name__ == "AcceleratedOptimizer" else one
            for one in several if one is not None]
