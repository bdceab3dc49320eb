"""Where a trainer is in its data: it lies in the segment beside the parameters, so that a trainer
that comes back goes on where the parameters that it gets were made, and a newcomer where its donor
is."""
from __future__ import annotations

from typing import Any, Tuple

from .segment import Segment
from .table import Entry

NAME = "starling.position"


def entry() -> Entry:
    """Its row in the table of tensors."""
    return Entry(NAME, (2,), "i64", "donor")


class Position:
    """How many epochs all nodes have gone through, and what was dealt to all of them since: samples
    of a DataLoader, batches of anything else. Each node counts by itself."""

    def __init__(self, numbers: Any = None) -> None:
        self._numbers = [0, 0] if numbers is None else numbers

    @classmethod
    def of(cls, segment: Segment) -> "Position":
        row = next(row for row in segment.entries if row.name == NAME)
        begin = segment.offset_of(row)
        return cls(memoryview(segment.memory)[begin:begin + row.bytes].cast("q"))

    def get(self) -> Tuple[int, int]:
        """Epoch and place in it. Numbers that no trainer writes count as the beginning."""
        epoch, dealt = self._numbers
        return (int(epoch), int(dealt)) if epoch >= 0 and dealt >= 0 else (0, 0)

    def set(self, epoch: int, dealt: int) -> None:
        self._numbers[0], self._numbers[1] = epoch, dealt
