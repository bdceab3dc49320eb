"""The tensors of a trainer that computes with PyTorch: parameters and buffers alias the segment.

A tensor on another device, of half precision, or whose alias is broken later (`model.to()`,
`p.data = ...`) is copied at each exchange instead. For half precision the segment holds f32: what
the steps changed is added to it, so that rounding to half does not add up. Of several processes of
a node the first holds the aliases. Of a sharded tensor (torch's DTensor) each has its own rows.
"""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Set

import torch

from .group import Group
from .notes import warn
from .segment import Segment
from .streams import Streams
from .table import Roles
from .tensors import Tensors
from .torch_optimizers import Optimizers
from .torch_slots import (ALIASED, Slot, can_alias, deal_out, fingerprint, have_finite_sum,
                          is_finite, leave_out_frozen, of_mapping, of_module, slots_of, unwrapped,
                          view_of, warn_of_products)


class TorchTensors(Tensors):
    """The tensors of a module, or of a dictionary, and the optimizer that steps them."""

    def __init__(self, model: Optional[torch.nn.Module], tensors: Optional[Mapping[str, Any]],
                 optimizers: Sequence[Any], roles: Roles,
                 trainable_only: bool = False, group: Optional[Group] = None) -> None:
        model = unwrapped(model)
        rows = list(of_module(model) if model is not None else of_mapping(dict(tensors or {})))
        self.names = [name for name, _, _ in rows]
        self._model, self._count = model, len(rows)
        self._slots = slots_of(rows, roles)
        self._frozen = leave_out_frozen(self._slots, roles) if trainable_only else []
        warn_of_products(self._slots)
        self.entries = [slot.entry for slot in self._slots]
        if self._frozen:
            self.entries.append(fingerprint(self._frozen))
        self._averaged = [slot for slot in self._slots if slot.entry.role == "averaged"]
        if group is not None:
            deal_out(self._slots, group)
        self.is_sharded = any(slot.rows is not None for slot in self._slots)
        self._optimizers = Optimizers(optimizers)
        self._streams = Streams()
        self._warned = False
        self._told_rate: Optional[float] = None

    @property
    def learning_rate(self) -> Optional[float]:
        rate = self._optimizers.learning_rate
        return self._told_rate if rate is None else rate

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._told_rate = rate

    @property
    def arrays(self) -> Dict[str, torch.Tensor]:
        return {slot.entry.name: slot.tensor() for slot in self._slots}

    @property
    def gradients(self) -> Dict[str, torch.Tensor]:
        return {slot.entry.name: slot.gradient for slot in self._averaged
                if slot.gradient is not None}

    def can_correct(self) -> bool:
        """The optimizers step every parameter that is trained."""
        return self._optimizers.step_all(self._averaged)

    def can_shift(self) -> bool:
        """A number of half precision is too coarse for what a step is corrected by."""
        return all(slot.tensor().dtype in ALIASED for slot in self._averaged)

    def steps(self) -> Optional[str]:
        return self._optimizers.steps()

    def bind(self, segment: Segment) -> None:
        for slot in self._slots:
            slot.view = slot.part_of(view_of(segment, slot.entry, "values"))
            slot.bind()
        for slot in self._averaged:
            if "correction" in segment.regions:
                slot.correction = slot.part_of(view_of(segment, slot.entry, "correction"))
            if "gradient" in segment.regions:
                slot.gradient = slot.part_of(view_of(segment, slot.entry, "gradient"))
                slot.tracked = slot.gradient if slot.aliased else None
        if any(slot.local().device.type == "cuda" for slot in self._slots):
            self._streams.lock(segment)
        self._optimizers.watch_steps(
            self._averaged, self._before_optimizer if "gradient" in segment.regions else None)

    def collect(self) -> None:
        """Brings the segment up to date with what does not alias it."""
        if self._model is not None:
            self._check_growth([name for name, _, _ in of_module(self._model)])
        thawed = [slot.entry.name for slot in self._frozen if slot.tensor().requires_grad]
        if thawed:
            raise RuntimeError(f"{thawed[0]} was frozen in attach and needs a gradient now; it is "
                               "not exchanged. Attach with trainable_only=False, which exchanges "
                               "frozen parameters too, or attach anew once it is trained")
        broken = self._broken()
        with self._streams.of(self._devices()):
            for slot in broken:
                if slot.is_mine:
                    slot.collect()
                    self.copied_bytes += slot.entry.bytes
            if self._tracked_share:
                self._collect_tracked()
        self._streams.finish()

    def _check_growth(self, names: List[str]) -> None:
        if len(names) == self._count:
            return
        new = sorted(set(names) - set(self.names))
        raise RuntimeError(f"the model has {len(names)} tensors and had {self._count} in attach"
                           f"{f' (new: {new[0]})' if new else ''}; what came later is not "
                           "exchanged. Close the swarm and attach the model as it is now")

    def _collect_tracked(self) -> None:
        for slot in self._averaged:
            if slot.is_mine and slot.tracked is not None and slot.tracked is not slot.gradient:
                assert slot.gradient is not None
                slot.gradient.copy_(slot.tracked, non_blocking=True)
                self.copied_bytes += slot.entry.bytes

    def deliver(self, corrects: bool, tracked_share: float = 0, shifts: bool = False) -> None:
        broken = self._broken()
        self.corrects = corrects
        self.shifts = shifts
        with self._streams.of(self._devices()):
            for slot in broken:
                slot.deliver()
                self.copied_bytes += slot.entry.bytes
            if corrects or shifts:
                self.copied_bytes += sum(slot.take_correction() for slot in self._averaged)
        self._tracked_share = tracked_share
        if tracked_share:
            for slot in self._averaged:
                if slot.is_mine:
                    slot.begin_tracking()
        self._streams.join()

    def fault(self) -> Optional[str]:
        mine = [slot for slot in self._averaged if slot.is_mine]
        if have_finite_sum(slot.checked() for slot in mine):
            return None
        return next((slot.entry.name for slot in mine if not is_finite(slot.view)), None)

    def forget_faults(self) -> None:
        self._optimizers.forget_faults()

    def correct(self, gradients: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.corrects:
            added = {slot.entry.name: slot.added for slot in self._averaged}
            for name, gradient in gradients.items():
                gradient.add_(added[name])
        if self._tracked_share:
            tracked = {slot.entry.name: slot.tracked for slot in self._averaged}
            for name, gradient in gradients.items():
                total = tracked[name]
                assert total is not None
                total.add_(gradient.detach(), alpha=self._tracked_share)
        return gradients

    def shift(self, taken: Optional[bool] = None) -> int:
        counts = self._optimizers.take_counts()
        if taken is not None:
            counts = [int(taken)] * len(counts)
        steps = max(counts) if counts else int(taken is not False)
        if self.shifts and steps > 0:
            for slot, times in self._optimizers.by_count(self._averaged, counts or [steps]):
                assert slot.added is not None
                slot.local().add_(slot.added, alpha=times)
        return steps

    def batch(self, segment: Segment, count: int) -> torch.Tensor:
        """The first numbers of the region `batch`, as i64, which indexes tensors."""
        numbers = torch.frombuffer(segment.memory, dtype=torch.int32, count=count,
                                   offset=segment.regions["batch"]["offset"])
        return numbers.to(torch.int64) & 0xFFFFFFFF

    def gradient_fault(self) -> Optional[str]:
        return next((name for name, gradient in self.gradients.items()
                     if not is_finite(gradient)), None)

    def clear_gradients(self) -> None:
        """Zeroes the region `gradient` and lets the gradients of the parameters alias it."""
        for slot in self._averaged:
            assert slot.gradient is not None
            slot.gradient.zero_()
            if slot.tensor().requires_grad:
                slot.tensor().grad = slot.gradient if can_alias(slot.tensor()) else None

    def collect_gradients(self) -> None:
        """Copies the gradients that do not alias the region `gradient` into it."""
        for slot in self._averaged:
            grad, region = slot.tensor().grad, slot.gradient
            assert region is not None
            if grad is not None and grad.data_ptr() != region.data_ptr():
                region.copy_(grad)
                self.copied_bytes += slot.entry.bytes

    def release(self) -> None:
        """The optimizers step without corrections again; the model keeps its values."""
        super().release()
        self._optimizers.release()
        self._streams.release()

    def _devices(self) -> Set[torch.device]:
        return {slot.tensor().device for slot in self._slots}

    def _broken(self) -> List[Slot]:
        broken = [slot for slot in self._slots if not slot.is_alias()]
        surprising = [slot.entry.name for slot in broken if slot.aliased]
        if surprising and not self._warned:
            self._warned = True
            warn(f"{len(surprising)} tensors ({surprising[0]}, ...) no longer lie in the memory "
                 "shared with the daemon, as after model.to() or p.data = ...; they are copied at "
                 "each exchange. Attach after such calls", 4)
        return broken

    def _before_optimizer(self, slots: List[Slot], scale: float) -> None:
        """`scale`: of the gradients."""
        if self.corrects:
            for slot in slots:
                slot.add_correction(scale)
        if self._tracked_share:
            for slot in slots:
                slot.track(self._tracked_share / scale)
