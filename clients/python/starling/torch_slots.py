"""The tensors of a module of PyTorch, or of a dictionary, as rows of the table: which there are,
what role each has, and where the model looks them up."""
from __future__ import annotations

import math
import os
import zlib
from typing import Any, Dict, Iterable, Iterator, List, Mapping, MutableMapping, Optional, Tuple

import torch
from torch.nn.parameter import is_lazy

from .group import Group
from .notes import warn
from .segment import Segment
from .table import Entry, Roles

ALIASED = {torch.float64: "f64", torch.float32: "f32", torch.int64: "i64"}
_HALF = (torch.float16, torch.bfloat16)
_COPIED = {torch.float16: "f32", torch.bfloat16: "f32", torch.int32: "i64", torch.int16: "i64",
           torch.int8: "i64", torch.uint8: "i64", torch.bool: "i64"}
_TORCH = {wire: dtype for dtype, wire in ALIASED.items()}

# A variable of the environment: 1 copies tensors of the CPU as those of a GPU are, for tests.
STAGING = "STARLING_STAGING"

# Numbers of half precision that are added to the segment at a time. Larger: the caches of a
# processor hold them no longer, and each exchange takes fresh memory. Smaller: more calls.
_TILE = 1 << 17

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
        # Where the gradients of the steps add up: the region itself, or a tensor on the device.
        self.tracked: Optional[torch.Tensor] = None
        # The correction as the tensor needs it: itself, or a copy on its device.
        self.added: Optional[torch.Tensor] = None

    def tensor(self) -> torch.Tensor:
        """The tensor as the model has it now."""
        holder, key = self.places[0]
        return holder[key]

    def local(self) -> torch.Tensor:
        """Its numbers that this process holds."""
        return local(self.tensor())

    def part_of(self, region: torch.Tensor) -> torch.Tensor:
        """What this process holds of the tensor in a region of the segment."""
        return region if self.rows is None else region[self.rows]

    def is_alias(self) -> bool:
        address = self.view.data_ptr()
        return all(local(holder[key]).data_ptr() == address for holder, key in self.places)

    def bind(self) -> None:
        """Puts the value into the segment and lets the tensors of the model alias it."""
        if not self.is_mine:
            return
        self.view.copy_(self.local())
        self.aliased = self.rows is None and can_alias(self.tensor())
        if not self.aliased:
            return
        for holder, key in self.places:
            holder[key].data = self.view

    def collect(self) -> None:
        """Copies the tensor of the model into the segment."""
        value = self.local()
        if value.dtype not in _HALF:
            self.view.copy_(value, non_blocking=True)
            return
        for held, now in zip(_tiles(self.view), _tiles(value)):
            known = held.to(now.device, non_blocking=True)
            change = now.float().sub_(known.to(now.dtype))
            held.copy_(change.add_(known), non_blocking=True)

    def take_correction(self) -> int:
        """Brings the correction to where the tensor is; the bytes that were copied."""
        parameter, correction = self.local(), self.correction
        assert correction is not None
        kind = parameter.device, parameter.dtype
        if kind == (correction.device, correction.dtype):
            self.added = correction
            return 0
        if self.added is None or kind != (self.added.device, self.added.dtype):
            self.added = torch.empty_like(correction, device=kind[0], dtype=kind[1])
        self.added.copy_(correction, non_blocking=True)
        return self.entry.bytes

    def checked(self) -> torch.Tensor:
        """The numbers in which a fault shows: of the segment, or where the device has them."""
        value = self.local()
        return self.view if value.device == self.view.device else value

    def begin_tracking(self) -> None:
        """Empties the sum of its gradients, which is kept where they are computed."""
        assert self.gradient is not None
        if self.tracked is None:
            self.tracked = torch.empty_like(self.gradient, device=self.local().device)
        self.tracked.zero_()

    def track(self, share: float) -> None:
        """Adds a share of its gradient to the sum."""
        grad = self.tensor().grad
        if grad is not None and self.is_mine:
            assert self.tracked is not None
            grad = local(grad.to_dense() if grad.is_sparse else grad)
            self.tracked.add_(grad.to(self.tracked), alpha=share)

    def add_correction(self, scale: float) -> None:
        """Adds its correction to its gradient, which is `scale` times what it stands for."""
        parameter = self.tensor()
        if not parameter.requires_grad or self.added is None:
            return
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        if parameter.grad.is_sparse:
            parameter.grad = scale * self.added + parameter.grad
        else:
            local(parameter.grad).add_(self.added, alpha=scale)

    def deliver(self) -> None:
        """Copies the segment into the tensors of the model."""
        for holder, key in self.places:
            local(holder[key]).copy_(self.view, non_blocking=True)


# ---------------------------------------------------------------- which tensors there are


def of_module(model: torch.nn.Module) -> Iterator[Tuple[str, Place, str]]:
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


def of_mapping(tensors: MutableMapping[str, Any]) -> Iterator[Tuple[str, Place, str]]:
    for name, tensor in tensors.items():
        yield name, (tensors, name), "averaged" if tensor.is_floating_point() else "donor"


def slots_of(rows: Iterable[Tuple[str, Place, str]], roles: Roles) -> List[Slot]:
    """One slot a tensor; a tensor that stands in several places has one. Empty ones have none."""
    slots: Dict[Any, Slot] = {}
    for name, (holder, key), role in rows:
        tensor = holder[key]
        role = roles.of(name, role, tensor.is_floating_point())
        if is_lazy(tensor):
            raise TypeError(f"tensor {name} has no shape yet; call the model once before attach")
        if tensor.numel() == 0 or (role == "local" and tensor.dtype not in {**ALIASED, **_COPIED}):
            continue
        entry = _entry(name, tensor, role)
        # Shards without rows have no memory.
        identity = (tensor.device, id(tensor) if hasattr(tensor, "to_local") else tensor.data_ptr())
        known = slots.get(identity)
        if known is None:
            slots[identity] = Slot(entry, (holder, key))
        elif _layout(known.tensor()) == _layout(tensor):
            known.places.append((holder, key))
        else:
            raise TypeError(f"{name} and {known.entry.name} share memory in different shapes; "
                            "tensors of one storage must be of one shape")
    return list(slots.values())


def _entry(name: str, tensor: torch.Tensor, role: str) -> Entry:
    wire = ALIASED.get(tensor.dtype) or _COPIED.get(tensor.dtype)
    if wire is None or tensor.layout != torch.strided or tensor.device.type == "meta":
        raise TypeError(f"tensor {name} is {tensor.dtype}, {tensor.layout} on {tensor.device}; "
                        "allowed are dense tensors of real numbers. Name it in local=[...] to keep "
                        "it out of the exchange")
    return Entry(name, tuple(tensor.shape), wire, role,
                 frozen=role == "averaged" and not tensor.requires_grad)


def _layout(tensor: torch.Tensor) -> Tuple[Any, ...]:
    return tensor.dtype, tuple(tensor.shape), tensor.stride()


def leave_out_frozen(slots: List[Slot], roles: Roles) -> List[Slot]:
    """Takes the parameters that need no gradient out of `slots`, where some do need one, and
    returns them: they stay at each node."""
    averaged = [slot for slot in slots if slot.entry.role == "averaged"]
    frozen = [slot for slot in averaged
              if not slot.tensor().requires_grad and roles.get(slot.entry.name) is None]
    if len(frozen) == len(averaged):
        return []
    slots[:] = [slot for slot in slots if slot not in frozen]
    return frozen


def fingerprint(frozen: Iterable[Slot]) -> Entry:
    """A tensor of the table whose name tells the frozen parameters apart: the daemons refuse an
    edge between nodes whose tables differ, and name what differs."""
    check = 0
    for slot in frozen:
        tensor = slot.tensor().detach().cpu().contiguous()
        kind = f"{slot.entry.name} {tuple(tensor.shape)} {tensor.dtype}"
        check = zlib.crc32(kind.encode(), check)
        check = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy(), check)
    return Entry(f"starling.frozen.{check:08x}", (1,), "i64", "donor")


def warn_of_products(slots: Iterable[Slot]) -> None:
    """Of adapters that multiply two trained factors, as LoRA does: their mean is another model."""
    trained = {slot.entry.name for slot in slots
               if slot.entry.role == "averaged" and slot.tensor().requires_grad}
    for name in sorted(trained):
        if "lora_A" in name and name.replace("lora_A", "lora_B") in trained:
            warn(f"{name} and its lora_B are both trained: the product of the nodes' means is not "
                 "the mean of their products. Freeze the A factors, equal on all nodes "
                 "(requires_grad_(False) before attach), and the mean is exact", 6)
            return


def unwrapped(model: Any) -> Any:
    """The user's own module, whose tensors have the same names on a node of one process."""
    while type(model).__name__ in ("DistributedDataParallel", "DataParallel", "OptimizedModule"):
        model = model._orig_mod if hasattr(model, "_orig_mod") else model.module
    return model


def deal_out(slots: Iterable[Slot], group: Group) -> None:
    """Who writes what: of a sharded tensor each process its own rows, which follow one another by
    rank; of others the first process."""
    for slot in slots:
        tensor: Any = slot.tensor()
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


# ---------------------------------------------------------------- where they lie


def local(tensor: Any) -> torch.Tensor:
    """The numbers that this process holds, in their own memory: all of a plain tensor."""
    return (tensor.to_local() if hasattr(tensor, "to_local") else tensor).detach()


def can_alias(tensor: torch.Tensor) -> bool:
    is_staged = os.environ.get(STAGING) == "1"
    return tensor.device.type == "cpu" and tensor.dtype in ALIASED and not is_staged


def view_of(segment: Segment, entry: Entry, region: str) -> torch.Tensor:
    return torch.frombuffer(segment.memory, dtype=_TORCH[entry.dtype], count=entry.count,
                            offset=segment.offset_of(entry, region)).view(entry.shape)


def is_finite(tensor: torch.Tensor) -> bool:
    """The sum tells at the speed of memory; a sum may overflow where no number does."""
    return math.isfinite(tensor.sum().item()) or bool(torch.isfinite(tensor).all())


def have_finite_sum(tensors: Iterable[torch.Tensor]) -> bool:
    """True: all numbers are finite. Each device sums what lies on it and is waited for once."""
    sums: Dict[Any, List[torch.Tensor]] = {}
    for tensor in tensors:
        total = tensor.sum(dtype=torch.float32 if tensor.dtype in _HALF else tensor.dtype)
        sums.setdefault((total.device, total.dtype), []).append(total)
    return all(math.isfinite(torch.stack(totals).sum().item()) for totals in sums.values())


def _tiles(tensor: torch.Tensor) -> Tuple[torch.Tensor, ...]:
    return tensor.reshape(-1).split(_TILE)
