"""The same loop without a network: for trying a script out, and for one process on all the data."""
from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, Mapping, Optional

from .position import Position
from .shares import share_of
from .status import Status


class Alone:
    """Has the methods of Swarm that a loop calls; ends after `steps` calls of step()."""

    def __init__(self, steps: int, tensors: Optional[Mapping[str, Any]] = None) -> None:
        self._steps = steps
        self._taken = 0
        self._position = Position()
        self.tensors: Dict[str, Any] = dict(tensors or {})
        self.metrics: Dict[str, float] = {}  # that log() was told last
        self.end_reason: Optional[str] = None

    def step(self, loss: Any = None, samples: int = 0, progress: Optional[int] = None,
             taken: Optional[bool] = None) -> bool:
        self._taken += 1
        if self._taken >= self._steps:
            self.end_reason = f"{self._steps} steps"
        return self.is_running

    def alive(self) -> None:
        """Nobody asks."""

    def batches(self, loader: Iterable[Any], own: bool = False, seed: int = 0,
                whole: bool = False) -> Iterator[Any]:
        if not self.is_running:
            return
        for batch in share_of(loader, lambda: (0, 1), self._position, seed, whole):
            yield batch
            if not self.is_running:
                return

    def log(self, **metrics: float) -> None:
        self.metrics.update({name: float(value) for name, value in metrics.items()})

    def correct(self, gradients: Mapping[str, Any]) -> Mapping[str, Any]:
        return gradients

    def close(self) -> None:
        self.end_reason = self.end_reason or "closed by the trainer"

    @property
    def status(self) -> Status:
        return Status(node="alone", algorithm="none", round=self._taken, place=0, nodes=1,
                      local_steps=1, learning_rate=None, steps=self._taken, exchanges=0,
                      waited_seconds=0.0, copied_bytes=0,
                      epoch=self._position.get()[0])

    @property
    def round(self) -> int:
        return self._taken

    def schedule(self, scheduler: Any) -> None:
        scheduler.step()

    @property
    def lr_scale(self) -> float:
        return 1.0

    @property
    def is_running(self) -> bool:
        return self.end_reason is None

    def __enter__(self) -> "Alone":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def alone(steps: int, tensors: Optional[Mapping[str, Any]] = None) -> Alone:
    """A swarm of nobody else, which ends after `steps` steps."""
    return Alone(steps, tensors)
