"""This node's share of the data: of a DataLoader its samples, of any other iterable its batches.

All nodes go through an epoch in one order. In a step each of n nodes takes the next batch of its
place, so that all take n batches of that order; the samples left at the end are dealt out evenly,
to fewer nodes where a batch would be smaller than the loader's own last. While n stays the same,
an epoch of all nodes has each sample once, however far one is ahead.
"""
from __future__ import annotations

import collections
import itertools
import sys
from typing import Any, Callable, Deque, Iterable, Iterator, List, Optional, Sequence, Tuple

from .notes import warn
from .position import Position

# Place of this node, from 0, and the number of nodes. Both may change while batches are drawn.
Place = Callable[[], Tuple[int, int]]

# Of a DataLoader.
_OPTIONS = ("num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "generator",
            "multiprocessing_context")
_OPTIONS_OF_WORKERS = ("prefetch_factor", "persistent_workers")


def share_of(loader: Iterable[Any], place: Place, position: Position, seed: int = 0,
             whole: bool = False) -> Iterator[Any]:
    """The batches of this node, without end, from `position` on, which is brought up to date before
    each of them. `seed`: of the order of a shuffling DataLoader, the same at all nodes. `whole`:
    its batches are those of all nodes together. Raises ValueError where it gives no batch."""
    if iter(loader) is loader:
        raise ValueError("the loader is an iterator, which gives its batches only once; hand over "
                         "a list or a DataLoader")
    if _has_numbered_samples(loader):
        yield from _of_samples(loader, place, position, seed, whole)
    elif whole:
        raise ValueError("whole=True needs a DataLoader that goes through its samples in order or "
                         "shuffled")
    else:
        mine = _loader_of_share(loader, place)
        while True:
            yield from _epoch_of_batches(loader, mine, place, position)


def size_of(batch: Any) -> int:
    """The samples of a batch: the length of its first tensor; 0 where there is none to see."""
    while True:
        if isinstance(batch, dict):
            batch = list(batch.values())
        if isinstance(batch, (list, tuple)) and batch:
            batch = batch[0]
            continue
        shape = getattr(batch, "shape", None)
        return int(shape[0]) if shape else 0


def _warn_of_few() -> None:
    warn("this node's share of the loader holds no batch; it trains on all of them. Use smaller "
         "batches or fewer nodes", 2)


# ---------------------------------------------------------------- samples of a DataLoader


class _Deal:
    """How the samples of one batch of all nodes are divided among them.

    Every node has a part as long as none gets fewer samples than the last batch of the loader has,
    or, of a batch of the whole, than an even share of it, two at least: normalization over a batch
    fails on one. Otherwise fewer nodes have a part, in turn."""

    def __init__(self, loader: Any, is_whole: bool) -> None:
        self._count = len(loader.dataset)
        self._batch = int(loader.batch_size)
        self._is_whole = is_whole
        self._drops_last = bool(loader.drop_last)
        self._last = (0 if self._drops_last else self._count % self._batch) or self._batch

    def part(self, epoch: int, dealt: int, place: int,
             nodes: int) -> Optional[Tuple[int, int, int]]:
        """Begin and end of this node's next batch in an epoch of which `dealt` samples are dealt,
        the same where it has none, and how many are dealt then. None: the epoch is over."""
        whole = self._batch if self._is_whole else self._batch * nodes
        taken = min(whole, self._count - dealt)
        if taken <= 0 or self._drops_last and taken < whole <= self._count:
            return None
        least = max(2, self._batch // nodes) if self._is_whole else self._last
        parts = min(nodes, max(-(-taken // self._batch), taken // least))
        turn = place if parts == nodes else (place + epoch + dealt // whole) % nodes
        begin, end = (dealt + taken * min(turn + i, parts) // parts for i in (0, 1))
        return begin, end, dealt + taken


class _Batches:
    """A sampler of this node's batches; `ahead` holds the position after each of them."""

    def __init__(self, loader: Any, place: Place, begin: Tuple[int, int], seed: int,
                 whole: bool) -> None:
        self._count = len(loader.dataset)
        self._deal = _Deal(loader, whole)
        self._is_shuffled = type(loader.sampler).__name__ == "RandomSampler"
        self._place = place
        self._seed = seed
        self._begin = begin
        self.ahead: Deque[Tuple[int, int]] = collections.deque()

    def __iter__(self) -> Iterator[List[int]]:
        epoch, dealt = self._begin
        while True:
            order = self._order(epoch)
            while True:
                place, nodes = self._place()
                if self._count < nodes:
                    _warn_of_few()
                    place, nodes = 0, 1
                part = self._deal.part(epoch, dealt, place, nodes)
                if part is None:
                    break
                begin, end, dealt = part
                if end > begin:
                    self.ahead.append((epoch, dealt))
                    yield [int(number) for number in order[begin:end]]
            epoch, dealt = epoch + 1, 0

    def _order(self, epoch: int) -> Sequence[Any]:
        if not self._is_shuffled:
            return range(self._count)
        torch = sys.modules["torch"]
        generator = torch.Generator()
        generator.manual_seed((self._seed * 1_000_003 + epoch) % (1 << 63))
        return torch.randperm(self._count, generator=generator)


def _has_numbered_samples(loader: Any) -> bool:
    """It has an order that this node can know: one after the other, or shuffled by PyTorch."""
    data = sys.modules.get("torch.utils.data")
    return (data is not None and type(loader) is data.DataLoader and loader.batch_size is not None
            and not isinstance(loader.dataset, data.IterableDataset)
            and type(loader.batch_sampler) is data.BatchSampler
            and (type(loader.sampler) is data.SequentialSampler
                 or (type(loader.sampler) is data.RandomSampler
                     and not loader.sampler.replacement
                     and loader.sampler.num_samples == len(loader.dataset))))


def _of_samples(loader: Any, place: Place, position: Position, seed: int,
                whole: bool) -> Iterator[Any]:
    if len(loader.dataset) == 0:
        raise ValueError("the loader gives no batch")
    batches = _Batches(loader, place, position.get(), seed, whole)
    for batch in _like(loader, batches):
        position.set(*batches.ahead.popleft())
        yield batch


def _like(loader: Any, batches: Any) -> Any:
    """A DataLoader like this one, over other batches; samples that are in none are not read."""
    data = sys.modules["torch.utils.data"]
    kept = _OPTIONS + (_OPTIONS_OF_WORKERS if loader.num_workers > 0 else ())
    options = {name: getattr(loader, name) for name in kept}
    return data.DataLoader(loader.dataset, batch_sampler=batches, **options)


# ---------------------------------------------------------------- batches of anything else


def _epoch_of_batches(loader: Iterable[Any], mine: Any, place: Place,
                      position: Position) -> Iterator[Any]:
    epoch, dealt = position.get()
    drawn = 0
    for number, batch in (enumerate(mine) if mine is not None
                          else _every_nth(loader, place, dealt)):
        drawn += 1
        position.set(epoch, 0 if mine is not None else number)
        yield batch
    position.set(epoch + 1, 0)
    if drawn > 0 or dealt > 0:
        return
    for batch in loader:
        if drawn == 0:
            _warn_of_few()
        drawn += 1
        yield batch
    if drawn == 0:
        raise ValueError("the loader gives no batch")


def _every_nth(loader: Iterable[Any], place: Place, dealt: int) -> Iterator[Tuple[int, Any]]:
    """With each batch of this node how many are dealt to all after it."""
    mine, nodes = place()
    for number, batch in itertools.islice(enumerate(loader), dealt, None):
        if number == dealt + nodes:
            dealt = number
            mine, nodes = place()
        if number == dealt + mine:
            yield dealt + nodes, batch


class _SamplesOfShare:
    """A sampler that draws from another and keeps this node's samples."""

    def __init__(self, sampler: Iterable[int], place: Place) -> None:
        self._sampler = sampler
        self._place = place

    def __iter__(self) -> Iterator[int]:
        for number in self._sampler:
            mine, nodes = self._place()
            if int(number) % nodes == mine:
                yield number


def _loader_of_share(loader: Any, place: Place) -> Any:
    """Of a DataLoader whose sampler is the user's own, one over the samples whose number is this
    node's place modulo the nodes; None for anything else, and for an order by batches."""
    data = sys.modules.get("torch.utils.data")
    if (data is None or type(loader) is not data.DataLoader or loader.batch_size is None
            or isinstance(loader.dataset, data.IterableDataset)
            or type(loader.batch_sampler) is not data.BatchSampler):
        return None
    return _like(loader, data.BatchSampler(_SamplesOfShare(loader.sampler, place),
                                           loader.batch_size, loader.drop_last))
