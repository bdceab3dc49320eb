"""The Trainer of Hugging Face's transformers as a node of the network:

    trainer = Trainer(...)
    starling.for_transformers.patch(trainer)
    trainer.train()

The contract is that of transformers.TrainerCallback, version 4; the package is imported by nobody
but the user.
"""
from __future__ import annotations

from typing import Any, Dict, Iterator, Optional

from .swarm import Swarm, attach


class StarlingCallback:
    """Attaches when the training begins, and exchanges after steps of the optimizer. Has the
    methods of TrainerCallback, by name; `options` are those of attach."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self.swarm: Optional[Swarm] = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_"):
            return lambda *_, **__: None  # of the events that say nothing here
        raise AttributeError(name)

    def on_train_begin(self, args: Any, state: Any, control: Any, *, model: Any,
                       optimizer: Any = None, **_: Any) -> None:
        del args, state, control
        self.swarm = attach(model, optimizer, **self._options)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        del args
        assert self.swarm is not None
        losses = [entry["loss"] for entry in state.log_history[-1:] if "loss" in entry]
        if not self.swarm.step(loss=losses[0] if losses else None):
            control.should_training_stop = True
        return control

    def on_evaluate(self, args: Any, state: Any, control: Any, *,
                    metrics: Optional[Dict[str, float]] = None, **_: Any) -> None:
        del args, state, control
        told = {name: (metrics or {}).get(f"eval_{name}") for name in ("loss", "accuracy")}
        if self.swarm is not None:
            self.swarm.log(**{name: value for name, value in told.items() if value is not None})

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        del args, state, control
        if self.swarm is not None:
            self.swarm.close()


class Share:
    """A loader of a Trainer, of which this node takes its share. A pass is as long as the loader,
    so that an epoch of the Trainer is one of as many steps as one process takes."""

    def __init__(self, loader: Any, callback: StarlingCallback) -> None:
        self._loader = loader
        self._callback = callback

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        swarm = self._callback.swarm
        if swarm is None:
            yield from self._loader
            return
        for _, batch in zip(range(len(self)), swarm.batches(self._loader)):
            yield batch


def patch(trainer: Any, share: bool = True, **options: Any) -> Any:
    """Makes this Trainer a node and returns it. With `share`, all nodes hold the same training set
    and each takes its part; else it is this node's own. `options` are those of attach."""
    callback = StarlingCallback(**options)
    trainer.add_callback(callback)
    if share:
        loader_of = trainer.get_train_dataloader
        trainer.get_train_dataloader = lambda: Share(loader_of(), callback)
    return trainer
