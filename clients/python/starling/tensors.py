"""Chooses how tensors are held. numpy and torch are imported only when they are used already."""
from __future__ import annotations

import sys
from typing import Any, Collection, Dict, List, Mapping, Optional, Sequence

from .group import Group
from .segment import Segment
from .table import Entry, Roles


class Tensors:
    """Tensors of the trainer that lie in a segment, or are copied to and from it."""

    entries: List[Entry]
    names: List[str]  # of all tensors handed over, those too that have no entry
    corrects = shifts = False  # as deliver() was told last
    copied_bytes = 0
    is_sharded = False  # this process holds a part of some tensors
    learning_rate: Optional[float] = None  # of the next step; None where it is not known
    _tracked_share = 0.0

    @property
    def arrays(self) -> Dict[str, Any]:
        """What the trainer computes with, by name."""
        raise NotImplementedError

    @property
    def gradients(self) -> Dict[str, Any]:
        """Where gradients are written, by name; mode `gradients`."""
        raise NotImplementedError

    def can_correct(self) -> bool:
        """Corrections are added without the help of the loop."""
        return False

    def can_shift(self) -> bool:
        """shift() loses nothing to rounding."""
        return False

    def steps(self) -> Optional[str]:
        """What is known of the optimizer's steps: "sgd", "linear" in the gradient, or None."""
        return None

    def bind(self, segment: Segment) -> None:
        """Puts the values into the segment and aliases it."""

    def collect(self) -> None:
        """Brings the segment up to date."""

    def deliver(self, corrects: bool, tracked_share: float = 0, shifts: bool = False) -> None:
        """Takes what the daemon wrote: a correction of gradients, or with `shifts` of parameters.
        Of each gradient with its correction, `tracked_share` is added to the region `gradient` from
        now on."""

    def fault(self) -> Optional[str]:
        """The first averaged tensor that is not finite."""
        raise NotImplementedError

    def forget_faults(self) -> None:
        """Drops state of the optimizer that is not finite."""

    def correct(self, gradients: Mapping[str, Any]) -> Mapping[str, Any]:
        """Adds the correction to the gradients, where the daemon asks for it."""
        return gradients

    def shift(self, taken: Optional[bool] = None) -> int:
        """How many steps of the optimizer were taken since the last call: what `taken` says, else
        what the optimizers count, else one. Adds the correction to the parameters for each of them,
        where the daemon asks for it."""
        raise NotImplementedError

    def batch(self, segment: Segment, count: int) -> Any:
        """The first numbers of the region `batch`."""

    def clear_gradients(self) -> None:
        """Zeroes the region `gradient`."""

    def collect_gradients(self) -> None:
        """Brings the region `gradient` up to date."""

    def gradient_fault(self) -> Optional[str]:
        """The first tensor whose gradient is not finite."""

    def release(self) -> None:
        """Nothing is corrected any more, and what bind() did to the optimizer is undone."""
        self.corrects = self.shifts = False
        self._tracked_share = 0.0


def hold(model: Any, optimizers: Sequence[Any], tensors: Optional[Mapping[str, Any]],
         roles: Mapping[str, str], local: Collection[str],
         trainable_only: bool = False, group: Optional[Group] = None) -> Tensors:
    """The tensors of `model` or `tensors`, exactly one of which is given. `group`: the processes of
    this node, if there are several."""
    if (model is None) == (tensors is None):
        raise TypeError("either a torch module or tensors={name: array} is needed")
    _check_flat(model, tensors or {})
    asked = Roles({**roles, **{name: "local" for name in local}})
    held: Tensors
    if model is not None or _are_torch(tensors or {}):
        from .torch_tensors import TorchTensors
        held = TorchTensors(model, tensors, optimizers, asked, trainable_only, group)
    else:
        from .numpy_tensors import NumpyTensors
        if optimizers:
            raise TypeError("an optimizer is taken with a torch module only")
        if group is not None:
            raise TypeError("several processes of a node need tensors of torch")
        held = NumpyTensors(tensors or {}, asked)
    unknown = asked.unused(held.names)
    if unknown:
        raise ValueError(f"no tensor is called {', '.join(unknown)}; there are "
                         f"{', '.join(held.names[:20])}")
    return held


def _check_flat(model: Any, tensors: Mapping[str, Any]) -> None:
    """Raises TypeError for arrays as a model, and for tensors within tensors."""
    if isinstance(model, Mapping):
        raise TypeError("the model is a dict, not a torch module; arrays by name are handed over "
                        "as attach(tensors={name: array})")
    for name, value in tensors.items():
        path, keys = f"tensors[{name!r}]", [str(name)]
        nested = path
        while isinstance(value, Mapping) and value:
            key, value = next(iter(value.items()))
            keys.append(str(key))
            nested += f"[{key!r}]"
        if nested != path or isinstance(value, Mapping):
            raise TypeError(f"{path} is a dict and no array; flatten the tree by name, as "
                            f"tensors={{\"{'.'.join(keys)}\": {nested}, ...}}; a tree of JAX is "
                            "handed to starling.for_jax.attach(params)")


def _are_torch(tensors: Mapping[str, Any]) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and any(torch.is_tensor(value) for value in tensors.values())
