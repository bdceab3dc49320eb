"""This node's share of the data: of a DataLoader its samples, of any other iterable its batches."""
from __future__ import annotations

import sys
import warnings
from typing import Any, Callable, Iterable, Iterator, Tuple

# Place of this node, from 0, and the number of nodes. Both may change while batches are drawn.
Place = Callable[[], Tuple[int, int]]

# Of a DataLoader.
_OPTIONS = ("num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "generator",
            "multiprocessing_context")
_OPTIONS_OF_WORKERS = ("prefetch_factor", "persistent_workers")


def share_of(loader: Iterable[Any], place: Place) -> Iterator[Any]:
    """The batches of this node, without end. Raises ValueError where the loader gives none."""
    if iter(loader) is loader:
        raise ValueError("the loader is an iterator, which gives its batches only once; hand over "
                         "a list or a DataLoader")
    mine = _loader_of_share(loader, place)
    while True:
        drawn = 0
        for batch in mine if mine is not None else _every_nth(loader, place):
            drawn += 1
            yield batch
        if drawn == 0:
            for batch in loader:
                if drawn == 0:
                    warnings.warn("this node's share of the loader holds no batch; it trains on "
                                  "all of them. Use smaller batches or fewer nodes",
                                  RuntimeWarning, stacklevel=3)
                drawn += 1
                yield batch
        if drawn == 0:
            raise ValueError("the loader gives no batch")


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


def _every_nth(loader: Iterable[Any], place: Place) -> Iterator[Any]:
    for number, batch in enumerate(loader):
        mine, nodes = place()
        if number % nodes == mine:
            yield batch


def _loader_of_share(loader: Any, place: Place) -> Any:
    """A DataLoader like this one over this node's samples, so that others are not even read; None
    where samples have no numbers or the batches are of the user's own sampler."""
    data = sys.modules.get("torch.utils.data")
    if (data is None or type(loader) is not data.DataLoader or loader.batch_size is None
            or isinstance(loader.dataset, data.IterableDataset)
            or type(loader.batch_sampler) is not data.BatchSampler):
        return None
    batches = data.BatchSampler(_SamplesOfShare(loader.sampler, place), loader.batch_size,
                                loader.drop_last)
    kept = _OPTIONS + (_OPTIONS_OF_WORKERS if loader.num_workers > 0 else ())
    options = {name: getattr(loader, name) for name in kept}
    return data.DataLoader(loader.dataset, batch_sampler=batches, **options)
