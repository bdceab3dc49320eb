"""A model whose numbers its framework hands out and takes back as arrays: they are copied to and
from the shared memory at exchanges only."""
from __future__ import annotations

from typing import Any, Callable, Dict, Mapping

from .swarm import Swarm, attach

Arrays = Mapping[str, Any]


class CopiedModel:
    """A swarm of such a model: `get` gives its arrays by name, `put` takes them."""

    def __init__(self, get: Callable[[], Arrays], put: Callable[[Arrays], None],
                 **options: Any) -> None:
        self._get = get
        self._put = put
        self.swarm: Swarm = attach(tensors=get(), **options)
        put(self._values())

    def step(self, **told: Any) -> bool:
        """As Swarm.step()."""
        if self.swarm.is_due:
            for name, value in self._get().items():
                self.swarm.tensors[name][...] = value
        exchanges = self.swarm.is_due
        goes_on = self.swarm.step(**told)
        if exchanges:
            self._put(self._values())
        return goes_on

    def _values(self) -> Dict[str, Any]:
        return {name: array.copy() for name, array in self.swarm.tensors.items()}
