"""Saves and loads what a trainer wants to find again: its optimizer, its random numbers, and other
objects with state_dict() and load_state_dict()."""
from __future__ import annotations

import fcntl
import math
import mmap
import os
import sys
from typing import Any, Dict, Sequence

from .kept import decode, encode
from .segment import sealed

# What bytes from another node can raise below, beside ValueError.
_FAULTS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError)


class Keeper:
    """The state of one trainer; optimizers and objects are kept in their order."""

    def __init__(self, optimizers: Sequence[Any], objects: Sequence[Any]) -> None:
        self._optimizers = list(optimizers)
        self._objects = list(objects)
        for kept in self._objects:
            if not (hasattr(kept, "state_dict") and hasattr(kept, "load_state_dict")):
                raise TypeError(f"keep=[...] holds {type(kept).__name__}; expected objects with "
                                "state_dict() and load_state_dict()")

    @property
    def has_any(self) -> bool:
        return bool(self._optimizers or self._objects)

    def save(self) -> int:
        """A descriptor of a sealed memory file with the state; the caller closes it. Raises
        TypeError for a state that is neither plain data nor tensors."""
        parts = encode(self._state())

        def write(descriptor: int) -> None:
            with open(descriptor, "wb", closefd=False) as file:
                file.writelines(parts)
        return sealed("starling state", write, fcntl.F_SEAL_WRITE)

    def load(self, descriptor: int, own: bool) -> None:
        """Takes the state in the file: all of it if a trainer of this node saved it, else that of
        the optimizer and of schedules of learning rates, for the rest is each node's own. The
        tensors alias a private copy, of which a page is made when it is written. Raises
        ValueError."""
        size = os.fstat(descriptor).st_size
        memory = mmap.mmap(descriptor, size, flags=mmap.MAP_PRIVATE,
                           prot=mmap.PROT_READ | mmap.PROT_WRITE)
        try:
            self._take(decode(memory), own)
        except _FAULTS as error:
            raise ValueError(f"the state does not fit this trainer: {error}") from None

    @staticmethod
    def _check_moments(optimizer: Any, moments: Dict[int, Dict[str, Any]]) -> None:
        """Raises ValueError for one that has not the shape of its parameter or is not finite: it
        would end or spoil every later step."""
        import torch
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        for place, of_one in moments.items():
            for name, value in of_one.items():
                if not torch.is_tensor(value):
                    continue
                if value.dim() > 0 and value.shape != parameters[place].shape:
                    raise ValueError(f"{name} of parameter {place} has shape {tuple(value.shape)}; "
                                     f"expected {tuple(parameters[place].shape)}")
                if value.is_floating_point() and not bool(torch.isfinite(value).all()):
                    raise ValueError(f"{name} of parameter {place} is not finite")

    def _state(self) -> Dict[str, Any]:
        state: Dict[str, Any] = {"objects": [kept.state_dict() for kept in self._objects]}
        state["optimizers"] = [optimizer.state_dict() for optimizer in self._optimizers]
        torch = sys.modules.get("torch")
        if torch is not None:
            state["random"] = torch.get_rng_state()
        return state

    def _take(self, state: Dict[str, Any], own: bool) -> None:
        if not isinstance(state, dict):
            raise ValueError(f"a state is a dictionary; this is {type(state).__name__}")
        saved = state["optimizers"]
        if len(saved) != len(self._optimizers):
            raise ValueError(f"{len(saved)} optimizers were saved; this trainer has "
                             f"{len(self._optimizers)}")
        if len(state["objects"]) != len(self._objects):
            raise ValueError(f"{len(state['objects'])} objects were kept; this trainer keeps "
                             f"{len(self._objects)}")
        schedules = [kept for kept in self._objects if _is_schedule(kept)]
        for optimizer, of_one in zip(self._optimizers, saved):
            self._take_optimizer(optimizer, of_one, own or bool(schedules))
        for kept, of_one in zip(self._objects, state["objects"]):
            if own or kept in schedules:
                kept.load_state_dict(of_one)
        torch = sys.modules.get("torch")
        if own and torch is not None and "random" in state:
            torch.set_rng_state(state["random"])

    def _take_optimizer(self, optimizer: Any, saved: Dict[str, Any], with_rates: bool) -> None:
        """Without rates, the learning rate and its like stay those of the script."""
        groups = optimizer.state_dict()["param_groups"]
        sizes = [[len(group["params"]) for group in side]
                 for side in (groups, saved["param_groups"])]
        if sizes[0] != sizes[1]:
            raise ValueError("the optimizer has other parameters than the one that was saved")
        self._check_moments(optimizer, saved["state"])
        for group in saved["param_groups"]:
            if not math.isfinite(float(group["lr"])):
                raise ValueError(f"the learning rate is {group['lr']}")
        optimizer.load_state_dict(saved if with_rates else {**saved, "param_groups": groups})


def _is_schedule(kept: Any) -> bool:
    """Of learning rates, as PyTorch has them: what a newcomer takes of its donor."""
    schedules = sys.modules.get("torch.optim.lr_scheduler")
    return schedules is not None and isinstance(
        kept, (getattr(schedules, "LRScheduler", schedules._LRScheduler),
               schedules.ReduceLROnPlateau))
