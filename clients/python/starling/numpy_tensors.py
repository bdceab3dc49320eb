"""The tensors of a trainer that computes with numpy: arrays that alias the segment."""
from __future__ import annotations

from typing import Any, Collection, Dict, List, Mapping, Optional

import numpy

from .segment import Segment
from .table import Entry, Roles
from .tensors import Tensors

_DTYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "int64": "i64"}
_NUMPY = {wire: name for name, wire in _DTYPES.items()}


class NumpyTensors(Tensors):
    """Takes the values of the arrays handed over and gives back `arrays`, which alias the segment.

    Integers of other types become int64. Arrays without elements are left out.
    """

    def __init__(self, tensors: Mapping[str, Any], roles: Roles) -> None:
        given = {name: _plain(name, value) for name, value in tensors.items()}
        self.names = list(given)
        self._given = {name: array for name, array in given.items() if array.size}
        self.entries: List[Entry] = [
            Entry(name, array.shape, _DTYPES[array.dtype.name], roles.of(
                name, "donor" if array.dtype.kind == "i" else "averaged", array.dtype.kind == "f"))
            for name, array in self._given.items()]
        self._arrays: Dict[str, numpy.ndarray] = {}
        self.corrections: Dict[str, numpy.ndarray] = {}
        self._gradients: Dict[str, numpy.ndarray] = {}

    @property
    def arrays(self) -> Dict[str, Any]:
        return self._arrays

    @property
    def gradients(self) -> Dict[str, Any]:
        return self._gradients

    def can_shift(self) -> bool:
        return all(entry.dtype != "f16" for entry in self.entries if entry.role == "averaged")

    def bind(self, segment: Segment) -> None:
        self._arrays = self._views(segment, "values", self.entries)
        averaged = [entry for entry in self.entries if entry.role == "averaged"]
        if "correction" in segment.regions:
            self.corrections = self._views(segment, "correction", averaged)
        if "gradient" in segment.regions:
            self._gradients = self._views(segment, "gradient", averaged)
        for name, array in self._given.items():
            self._arrays[name][...] = array
        self._given = {}

    def deliver(self, corrects: bool, tracked_share: float = 0, shifts: bool = False) -> None:
        self.corrects = corrects
        self.shifts = shifts
        self._tracked_share = tracked_share
        if tracked_share:
            self.clear_gradients()

    def fault(self) -> Optional[str]:
        return next((entry.name for entry in self.entries if entry.role == "averaged"
                     and not is_finite(self._arrays[entry.name])), None)

    def correct(self, gradients: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.corrects:
            for name, gradient in gradients.items():
                gradient += self.corrections[name]
        if self._tracked_share:
            for name, gradient in gradients.items():
                self._gradients[name] += self._tracked_share * gradient
        return gradients

    def shift(self, taken: Optional[bool] = None) -> int:
        if self.shifts and taken is not False:
            for name, correction in self.corrections.items():
                self._arrays[name][...] += correction
        return int(taken is not False)

    def batch(self, segment: Segment, count: int) -> Any:
        """The first numbers of the region `batch`, read-only."""
        batch = numpy.frombuffer(segment.memory, dtype="uint32", count=count,
                                 offset=segment.regions["batch"]["offset"])
        batch.flags.writeable = False
        return batch

    def clear_gradients(self) -> None:
        for gradient in self._gradients.values():
            gradient[...] = 0

    def gradient_fault(self) -> Optional[str]:
        return next((name for name, gradient in self._gradients.items()
                     if not is_finite(gradient)), None)

    @staticmethod
    def _views(segment: Segment, region: str,
               entries: Collection[Entry]) -> Dict[str, numpy.ndarray]:
        return {entry.name: numpy.frombuffer(
            segment.memory, dtype=_NUMPY[entry.dtype], count=entry.count,
            offset=segment.offset_of(entry, region)).reshape(entry.shape) for entry in entries}


def is_finite(array: numpy.ndarray) -> bool:
    """The sum tells at the speed of memory; a sum may overflow where no number does."""
    with numpy.errstate(all="ignore"):
        return bool(numpy.isfinite(array.sum())) or bool(numpy.isfinite(array).all())


def _plain(name: str, value: Any) -> numpy.ndarray:
    array = numpy.asarray(value)
    if array.dtype.kind in "iub":
        array = array.astype("int64")
    if array.dtype.name not in _DTYPES or not array.dtype.isnative:
        raise TypeError(f"tensor {name} holds {array.dtype}; allowed are {sorted(_DTYPES)} "
                        f"and other integers")
    return array
