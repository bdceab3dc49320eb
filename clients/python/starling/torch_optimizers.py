"""The optimizers of a trainer that computes with PyTorch: what is done before their steps."""
from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch

from .torch_slots import Slot, is_finite


class Optimizers:
    """None, one, or several, each of which steps parameters of its own, as of a GAN."""

    def __init__(self, optimizers: Sequence[Any]) -> None:
        self._all = list(optimizers)
        self._undo: List[Callable[[], None]] = []
        self._counts = [0] * len(self._all)  # steps of each since take_counts()

    @property
    def learning_rate(self) -> Optional[float]:
        """Of the first group of the first."""
        groups = getattr(self._all[0], "param_groups", None) if self._all else None
        return float(groups[0]["lr"]) if groups and "lr" in groups[0] else None

    def step_all(self, slots: List[Slot]) -> bool:
        """Every one of these tensors that is trained is stepped by one of them."""
        stepped = {id(parameter) for optimizer in self._all for group in optimizer.param_groups
                   for parameter in group["params"]}
        trained = [slot.tensor() for slot in slots if slot.tensor().requires_grad]
        return bool(trained) and all(id(tensor) in stepped for tensor in trained)

    def steps(self) -> Optional[str]:
        """"sgd" or "linear" in the gradients; None: of other classes, and of classes derived from
        SGD, nothing is known."""
        if not self._all or any(type(optimizer) is not torch.optim.SGD for optimizer in self._all):
            return None
        plain = all(group["momentum"] == 0 for optimizer in self._all
                    for group in optimizer.param_groups)
        return "sgd" if plain else "linear"

    def watch_steps(self, slots: List[Slot],
                    action: Optional[Callable[[List[Slot], float], None]]) -> None:
        """Counts the steps of each until release(). Calls `action` before each of them, with the
        slots that the step moves and with the scale of their gradients."""
        for place, optimizer in enumerate(self._all):
            def act(optimizer: Any = optimizer) -> None:
                if action is None or _is_left_out(optimizer):
                    return
                # Fused optimizers under a GradScaler unscale the gradients within their step.
                scale = getattr(optimizer, "grad_scale", None)
                action(_stepped_by(optimizer, slots), 1.0 if scale is None else float(scale))

            def count(place: int = place, optimizer: Any = optimizer) -> None:
                if not _is_left_out(optimizer):
                    self._counts[place] += 1
            self._undo.append(_before_step(optimizer, act, count))

    def take_counts(self) -> List[int]:
        """How many steps each has taken since the last call."""
        counts = self._counts[:]
        self._counts[:] = [0] * len(counts)
        return counts

    def by_count(self, slots: List[Slot], counts: List[int]) -> List[Tuple[Slot, int]]:
        """Each slot with the steps that its optimizer has taken; one that none of them steps, with
        the most."""
        steps = dict.fromkeys((id(slot) for slot in slots), max(counts, default=1))
        for optimizer, count in zip(self._all, counts):
            steps.update((id(slot), count) for slot in _stepped_by(optimizer, slots))
        return [(slot, steps[id(slot)]) for slot in slots]

    def forget_faults(self) -> None:
        """Drops what they remember of parameters where it is not finite: Adam's moments would spoil
        every later step."""
        for optimizer in self._all:
            for parameter, state in list(optimizer.state.items()):
                numbers = [value for value in state.values() if torch.is_tensor(value)]
                if not all(is_finite(value) for value in numbers if value.is_floating_point()):
                    del optimizer.state[parameter]

    def release(self) -> None:
        """They step as before."""
        for undo in self._undo:
            undo()
        self._undo = []


def _stepped_by(optimizer: Any, slots: List[Slot]) -> List[Slot]:
    moved = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    return [slot for slot in slots if id(slot.tensor()) in moved]


def _is_left_out(optimizer: Any) -> bool:
    """Fused optimizers are called by a GradScaler for the steps too that it leaves out."""
    found = getattr(optimizer, "found_inf", None)
    return found is not None and float(found) != 0


def _before_step(optimizer: Any, action: Any, count: Any) -> Any:
    """Calls `count` and `action` before each step of this optimizer, `action` in a closure after
    it; returns what undoes that. PyTorch 2 has hooks for it, which hold where others replace
    `step`."""
    if not hasattr(optimizer, "register_step_pre_hook"):
        return _before_own_step(optimizer, action, count)

    def hook(_: Any, arguments: Any, options: Any) -> Any:
        count()
        closure = arguments[0] if arguments else options.get("closure")
        if closure is None:
            action()
            return None
        after = _then(closure, action)
        return ((after, *arguments[1:]), options) if arguments else ((), {**options,
                                                                          "closure": after})
    return optimizer.register_step_pre_hook(hook).remove


def _then(closure: Any, action: Any) -> Any:
    def corrected() -> Any:
        with torch.enable_grad():
            loss = closure()
        action()
        return loss
    return corrected


def _before_own_step(optimizer: Any, action: Any, count: Any) -> Any:
    """As _before_step, by a method in the place of the optimizer's.

    The method is bound to the instance, for schedulers of learning rates take `step.__func__`, and
    keeps the attributes that they mark it with.
    """
    inner = optimizer.step

    def step(self: Any, closure: Any = None, *arguments: Any, **options: Any) -> Any:
        count()
        if closure is None:
            action()
            return inner(*arguments, **options)
        return inner(_then(closure, action), *arguments, **options)

    step.__dict__.update(getattr(inner, "__dict__", {}))
    wrapped = step.__get__(optimizer)
    had_own = "step" in vars(optimizer)
    optimizer.step = wrapped

    def undo() -> None:
        if vars(optimizer).get("step") is not wrapped:
            return  # wrapped again since by a scheduler; then it only counts
        if had_own:
            optimizer.step = inner
        else:
            del optimizer.step
    return undo
