"""The tensors of a trainer that computes with PyTorch: parameters and buffers alias the segment.

A tensor on another device, of half precision, or whose alias is broken later (`model.to()`,
`p.data = ...`) is copied at each exchange instead. For half precision the segment holds f32: what
the steps changed is added to it, so that rounding to half does not add up. Of several processes of
a node the first holds the aliases. Of a sharded tensor (torch's DTensor) each has its own rows.
"""
from __future__ import annotations

import warnings
import zlib
from typing import Any, Dict, Iterable, Iterator, List, Mapping, MutableMapping, Optional, Tuple

import torch

from .group import Group
from .segment import Segment
from .table import Entry
from .tensors import Tensors

_ALIASED = {torch.float64: "f64", torch.float32: "f32", torch.int64: "i64"}
_COPIED = {torch.float16: "f32", torch.bfloat16: "f32", torch.int32: "i64", torch.int16: "i64",
           torch.int8: "i64", torch.uint8: "i64", torch.bool: "i64"}
_TORCH = {wire: dtype for dtype, wire in _ALIASED.items()}

# A dictionary and a key in it: where a module looks its tensor up.
Place = Tuple[MutableMapping[str, Any], str]


class Slot:
    """One tensor of the table and every place of the model that it stands in."""

    def __init__(self, entry: Entry, place: Place) -> None:
        self.entry = entry
        self.places = [place]
        self.view: torch.Tensor = torch.empty(0)
        self.rows: Optional[slice] = None  # that this process holds of a sharded tensor
        self.is_mine = True  # this process writes it into the segment
        self.aliased = False  # by bind(); the alias may be broken since
        self.correction: Optional[torch.Tensor] = None
        self.gradient: Optional[torch.Tensor] = None
        # The correction as the tensor needs it: itself, or a copy on its device.
        self.added: Optional[torch.Tensor] = None

    def tensor(self) -> torch.Tensor:
        """The tensor as the model has it now."""
        holder, key = self.places[0]
        return holder[key]

    def local(self) -> torch.Tensor:
        """Its numbers that this process holds."""
        return _local(self.tensor())

    def part_of(self, region: torch.Tensor) -> torch.Tensor:
        """What this process holds of the tensor in a region of the segment."""
        return region if self.rows is None else region[self.rows]

    def is_alias(self) -> bool:
        address = self.view.data_ptr()
        return all(_local(holder[key]).data_ptr() == address for holder, key in self.places)

    def bind(self) -> None:
        """Puts the value into the segment and lets the tensors of the model alias it."""
        if not self.is_mine:
            return
        self.view.copy_(self.local())
        self.aliased = self.rows is None and _can_alias(self.tensor())
        if not self.aliased:
            return
        for holder, key in self.places:
            holder[key].data = self.view

    def collect(self) -> None:
        """Copies the tensor of the model into the segment."""
        value = self.local()
        if value.dtype in (torch.float16, torch.bfloat16):
            rounded = self.view.to(value.dtype)
            self.view.add_(value.to("cpu", torch.float32) - rounded.to(torch.float32))
        else:
            self.view.copy_(value)

    def deliver(self) -> None:
        """Copies the segment into the tensors of the model."""
        for holder, key in self.places:
            _local(holder[key]).copy_(self.view)


class TorchTensors(Tensors):
    """The tensors of a module, or of a dictionary, and the optimizer that steps them."""

    def __init__(self, model: Optional[torch.nn.Module], tensors: Optional[Mapping[str, Any]],
                 optimizer: Optional[torch.optim.Optimizer], roles: Mapping[str, str],
                 trainable_only: bool = False, group: Optional[Group] = None) -> None:
        model = _unwrapped(model)
        rows = list(_of_module(model) if model is not None else _of_mapping(dict(tensors or {})))
        self.names = [name for name, _, _ in rows]
        self._slots = _slots(rows, roles)
        self._frozen: List[Slot] = []
        if trainable_only:
            self._leave_out_frozen(roles)
        _warn_of_products(self._slots)
        self.entries = [slot.entry for slot in self._slots]
        if self._frozen:
            self.entries.append(_fingerprint(self._frozen))
        self._averaged = [slot for slot in self._slots if slot.entry.role == "averaged"]
        if group is not None:
            _deal_out(self._slots, group)
        self.is_sharded = any(slot.rows is not None for slot in self._slots)
        self._optimizer = optimizer
        self._restore: Any = None
        self._warned = False
        self._told_rate: Optional[float] = None

    def _leave_out_frozen(self, roles: Mapping[str, str]) -> None:
        """Parameters that need no gradient stay at each node, where some do need one."""
        averaged = [slot for slot in self._slots if slot.entry.role == "averaged"]
        frozen = [slot for slot in averaged if not slot.tensor().requires_grad
                  and slot.entry.name not in roles]
        if len(frozen) < len(averaged):
            self._frozen = frozen
        left_out = {id(slot) for slot in self._frozen}
        self._slots = [slot for slot in self._slots if id(slot) not in left_out]

    @property
    def learning_rate(self) -> Optional[float]:
        groups = getattr(self._optimizer, "param_groups", None)
        return float(groups[0]["lr"]) if groups and "lr" in groups[0] else self._told_rate

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
        """The optimizer steps every parameter that is trained."""
        if self._optimizer is None:
            return False
        stepped = {id(p) for group in self._optimizer.param_groups for p in group["params"]}
        trained = [slot.tensor() for slot in self._averaged if slot.tensor().requires_grad]
        return bool(trained) and all(id(tensor) in stepped for tensor in trained)

    def can_shift(self) -> bool:
        """A number of half precision is too coarse for what a step is corrected by."""
        return all(slot.tensor().dtype in _ALIASED for slot in self._averaged)

    def steps(self) -> Optional[str]:
        """Of other classes, and of classes derived from SGD, nothing is known."""
        if type(self._optimizer) is not torch.optim.SGD:
            return None
        plain = all(group["momentum"] == 0 for group in self._optimizer.param_groups)
        return "sgd" if plain else "linear"

    def bind(self, segment: Segment) -> None:
        for slot in self._slots:
            slot.view = slot.part_of(_view(segment, slot.entry, "values"))
            slot.bind()
        for slot in self._averaged:
            if "correction" in segment.regions:
                slot.correction = slot.part_of(_view(segment, slot.entry, "correction"))
            if "gradient" in segment.regions:
                slot.gradient = slot.part_of(_view(segment, slot.entry, "gradient"))
        if self._optimizer is not None and "gradient" in segment.regions:
            self._restore = _before_step(self._optimizer, self._before_optimizer)

    def collect(self) -> None:
        """Brings the segment up to date with what does not alias it."""
        thawed = [slot.entry.name for slot in self._frozen if slot.tensor().requires_grad]
        if thawed:
            raise RuntimeError(f"{thawed[0]} was frozen in attach and needs a gradient now; it is "
                               "not exchanged. Attach with trainable_only=False, which exchanges "
                               "frozen parameters too, or attach anew once it is trained")
        for slot in self._broken():
            if slot.is_mine:
                slot.collect()
                self.copied_bytes += slot.entry.bytes

    def deliver(self, corrects: bool, tracked_share: float = 0, shifts: bool = False) -> None:
        for slot in self._broken():
            slot.deliver()
            self.copied_bytes += slot.entry.bytes
        self.corrects = corrects
        self.shifts = shifts
        if corrects or shifts:
            for slot in self._averaged:
                self._take_correction(slot)
        self._tracked_share = tracked_share
        if tracked_share:
            for slot in self._averaged:
                if slot.is_mine:
                    slot.gradient.zero_()

    def fault(self) -> Optional[str]:
        return next((slot.entry.name for slot in self._averaged
                     if slot.is_mine and not _is_finite(slot.view)), None)

    def forget_faults(self) -> None:
        """Drops what the optimizer remembers of parameters where it is not finite: Adam's moments
        would spoil every later step."""
        if self._optimizer is None:
            return
        for parameter, state in list(self._optimizer.state.items()):
            numbers = [value for value in state.values() if torch.is_tensor(value)]
            if not all(_is_finite(value) for value in numbers if value.is_floating_point()):
                del self._optimizer.state[parameter]

    def correct(self, gradients: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.corrects:
            added = {slot.entry.name: slot.added for slot in self._averaged}
            for name, gradient in gradients.items():
                gradient.add_(added[name])
        if self._tracked_share:
            tracked = self.gradients
            for name, gradient in gradients.items():
                tracked[name].add_(gradient.detach(), alpha=self._tracked_share)
        return gradients

    def shift(self) -> None:
        if self.shifts:
            for slot in self._averaged:
                slot.local().add_(slot.added)

    def batch(self, segment: Segment, count: int) -> torch.Tensor:
        """The first numbers of the region `batch`, as i64, which indexes tensors."""
        numbers = torch.frombuffer(segment.memory, dtype=torch.int32, count=count,
                                   offset=segment.regions["batch"]["offset"])
        return numbers.to(torch.int64) & 0xFFFFFFFF

    def gradient_fault(self) -> Optional[str]:
        return next((name for name, gradient in self.gradients.items()
                     if not _is_finite(gradient)), None)

    def clear_gradients(self) -> None:
        """Zeroes the region `gradient` and lets the gradients of the parameters alias it."""
        for slot in self._averaged:
            assert slot.gradient is not None
            slot.gradient.zero_()
            if slot.tensor().requires_grad and _can_alias(slot.tensor()):
                slot.tensor().grad = slot.gradient

    def collect_gradients(self) -> None:
        """Copies the gradients that do not alias the region `gradient` into it."""
        for slot in self._averaged:
            grad = slot.tensor().grad
            if grad is not None and grad.data_ptr() != slot.gradient.data_ptr():
                slot.gradient.copy_(grad)
                self.copied_bytes += slot.entry.bytes

    def release(self) -> None:
        """The optimizer steps without corrections again; the model keeps its values."""
        super().release()
        if self._restore is not None:
            self._restore()
            self._restore = None

    def _broken(self) -> List[Slot]:
        broken = [slot for slot in self._slots if not slot.is_alias()]
        surprising = [slot.entry.name for slot in broken if slot.aliased]
        if surprising and not self._warned:
            self._warned = True
            warnings.warn(f"{len(surprising)} tensors ({surprising[0]}, ...) no longer lie in the "
                          "memory shared with the daemon, as after model.to() or p.data = ...; "
                          "they are copied at each exchange. Attach after such calls",
                          RuntimeWarning, stacklevel=4)
        return broken

    def _take_correction(self, slot: Slot) -> None:
        parameter = slot.local()
        assert slot.correction is not None
        if parameter.device.type == "cpu" and parameter.dtype == slot.correction.dtype:
            slot.added = slot.correction
        else:
            slot.added = slot.correction.to(parameter.device, parameter.dtype)
            self.copied_bytes += slot.entry.bytes

    def _before_optimizer(self) -> None:
        if self.corrects:
            self._add_corrections()
        if self._tracked_share:
            self._track()

    def _track(self) -> None:
        for slot in self._averaged:
            grad = slot.tensor().grad
            if grad is not None and slot.is_mine:
                grad = _local(grad.to_dense() if grad.is_sparse else grad)
                slot.gradient.add_(grad.detach().to(slot.gradient), alpha=self._tracked_share)

    def _add_corrections(self) -> None:
        for slot in self._averaged:
            parameter = slot.tensor()
            if not parameter.requires_grad or slot.added is None:
                continue
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            if parameter.grad.is_sparse:
                parameter.grad = slot.added + parameter.grad
            else:
                _local(parameter.grad).add_(slot.added)


def _local(tensor: Any) -> torch.Tensor:
    """The numbers that this process holds, in their own memory: all of a plain tensor."""
    return (tensor.to_local() if hasattr(tensor, "to_local") else tensor).detach()


def _unwrapped(model: Any) -> Any:
    """The user's own module, whose tensors have the same names on a node of one process."""
    while type(model).__name__ in ("DistributedDataParallel", "DataParallel", "OptimizedModule"):
        model = model._orig_mod if hasattr(model, "_orig_mod") else model.module
    return model


def _deal_out(slots: Iterable[Slot], group: Group) -> None:
    """Who writes what: of a sharded tensor each process its own rows, which follow one another by
    rank; of others the first process."""
    for slot in slots:
        tensor = slot.tensor()
        if not hasattr(tensor, "to_local"):
            slot.is_mine = group.leads
            continue
        dims = {getattr(placement, "dim", None) for placement in tensor.placements}
        if dims == {None}:
            slot.is_mine = group.leads
            continue
        if dims != {0} or len(tensor.placements) != 1:
            raise TypeError(f"tensor {slot.entry.name} is sharded as {tensor.placements}; allowed "
                            "are shards of the first dimension")
        most = -(-slot.entry.shape[0] // group.size)
        begin = min(group.rank * most, slot.entry.shape[0])
        slot.rows = slice(begin, begin + tensor.to_local().shape[0])


def _of_module(model: torch.nn.Module) -> Iterator[Tuple[str, Place, str]]:
    """Name, place and role of each tensor, in the order of state_dict."""
    for prefix, module in model.named_modules(remove_duplicate=False):
        dot = prefix + "." if prefix else ""
        for key, parameter in module._parameters.items():
            if parameter is not None:
                yield dot + key, (module._parameters, key), "averaged"
        for key, buffer in module._buffers.items():
            if buffer is not None and key not in module._non_persistent_buffers_set:
                role = "statistic" if buffer.is_floating_point() else "donor"
                yield dot + key, (module._buffers, key), role


def _fingerprint(frozen: Iterable[Slot]) -> Entry:
    """A tensor of the table whose name tells the frozen parameters apart: the daemons refuse an
    edge between nodes whose tables differ, and name what differs."""
    check = 0
    for slot in frozen:
        tensor = slot.tensor().detach().cpu().contiguous()
        kind = f"{slot.entry.name} {tuple(tensor.shape)} {tensor.dtype}"
        check = zlib.crc32(kind.encode(), check)
        check = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy(), check)
    return Entry(f"starling.frozen.{check:08x}", (1,), "i64", "donor")


def _warn_of_products(slots: Iterable[Slot]) -> None:
    """Of adapters that multiply two trained factors, as LoRA does: their mean is another model."""
    trained = {slot.entry.name for slot in slots
               if slot.entry.role == "averaged" and slot.tensor().requires_grad}
    for name in sorted(trained):
        if "lora_A" in name and name.replace("lora_A", "lora_B") in trained:
            warnings.warn(
                f"{name} and its lora_B are both trained: the product of the nodes' means is not "
                "the mean of their products. Freeze the A factors, equal on all nodes "
                "(requires_grad_(False) before attach), and the mean is exact",
                RuntimeWarning, stacklevel=6)
            return


def _of_mapping(tensors: MutableMapping[str, Any]) -> Iterator[Tuple[str, Place, str]]:
    for name, tensor in tensors.items():
        yield name, (tensors, name), "averaged" if tensor.is_floating_point() else "donor"


def _slots(rows: Iterable[Tuple[str, Place, str]], roles: Mapping[str, str]) -> List[Slot]:
    """One slot a tensor; a tensor that stands in several places has one. Empty ones have none."""
    slots: Dict[Any, Slot] = {}
    for name, (holder, key), role in rows:
        tensor = holder[key]
        role = roles.get(name, role)
        if tensor.numel() == 0 or (role == "local" and tensor.dtype not in {**_ALIASED, **_COPIED}):
            continue
        # Shards without rows have no memory.
        identity = (tensor.device, id(tensor) if hasattr(tensor, "to_local") else tensor.data_ptr())
        known = slots.get(identity)
        if known is None:
            slots[identity] = Slot(_entry(name, tensor, role), (holder, key))
        elif _layout(known.tensor()) == _layout(tensor):
            known.places.append((holder, key))
        else:
            raise TypeError(f"{name} and {known.entry.name} share memory in different shapes; "
                            "tensors of one storage must be of one shape")
    return list(slots.values())


def _entry(name: str, tensor: torch.Tensor, role: str) -> Entry:
    wire = _ALIASED.get(tensor.dtype) or _COPIED.get(tensor.dtype)
    if wire is None or tensor.layout != torch.strided or tensor.device.type == "meta":
        raise TypeError(f"tensor {name} is {tensor.dtype}, {tensor.layout} on {tensor.device}; "
                        "allowed are dense tensors of real numbers. Name it in local=[...] to keep "
                        "it out of the exchange")
    return Entry(name, tuple(tensor.shape), wire, role)


def _layout(tensor: torch.Tensor) -> Tuple[Any, ...]:
    return tensor.dtype, tuple(tensor.shape), tensor.stride()


def _can_alias(tensor: torch.Tensor) -> bool:
    return tensor.device.type == "cpu" and tensor.dtype in _ALIASED


def _view(segment: Segment, entry: Entry, region: str) -> torch.Tensor:
    return torch.frombuffer(segment.memory, dtype=_TORCH[entry.dtype], count=entry.count,
                            offset=segment.offset_of(entry, region)).view(entry.shape)


def _is_finite(tensor: torch.Tensor) -> bool:
    """The sum tells at the speed of memory; a sum may overflow where no number does."""
    return bool(torch.isfinite(tensor.sum())) or bool(torch.isfinite(tensor).all())


def _before_step(optimizer: Any, action: Any) -> Any:
    """Calls `action` before each step of this optimizer; returns what undoes that.

    The method is bound to the instance, for schedulers of learning rates take `step.__func__`, and
    keeps the attributes that they mark it with.
    """
    inner = optimizer.step

    def step(self: Any, closure: Any = None, *arguments: Any, **options: Any) -> Any:
        if closure is None:
            action()
            return inner(*arguments, **options)

        def corrected() -> Any:
            loss = closure()
            action()
            return loss
        return inner(corrected, *arguments, **options)

    step.__dict__.update(getattr(inner, "__dict__", {}))
    wrapped = step.__get__(optimizer)
    had_own = "step" in vars(optimizer)
    optimizer.step = wrapped

    def undo() -> None:
        if vars(optimizer).get("step") is not wrapped:
            return  # wrapped again since by a scheduler; without corrections it only passes on
        if had_own:
            optimizer.step = inner
        else:
            del optimizer.step
    return undo
