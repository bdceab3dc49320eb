"""A callback for the Trainer of Lightning:

    Trainer(callbacks=[starling.for_lightning.StarlingCallback()])

The contract is that of lightning.pytorch.Callback, version 2; the package is imported by nobody but
the user, whose callbacks need no base class here.
"""
from __future__ import annotations

from typing import Any, Optional

from .swarm import Swarm, attach


class StarlingCallback:
    """Attaches when the training begins, and exchanges after steps of the optimizers; `options` are
    those of attach."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._steps = 0  # of the optimizers, until the last batch
        self.swarm: Optional[Swarm] = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_") or name in ("setup", "teardown", "load_state_dict"):
            return lambda *_, **__: None
        if name == "state_dict":
            return dict
        raise AttributeError(name)

    @property
    def state_key(self) -> str:
        return "starling"

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._steps = trainer.global_step
        self.swarm = attach(pl_module, list(trainer.optimizers), **self._options)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any,
                           batch_idx: int) -> None:
        """Batches of which gradients are only accumulated leave the count of steps as it is."""
        del pl_module, batch, batch_idx
        assert self.swarm is not None
        if trainer.global_step == self._steps:
            return
        self._steps = trainer.global_step
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if not self.swarm.step(loss=loss):
            trainer.should_stop = True

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        del pl_module
        metrics = trainer.callback_metrics
        told = {name: metrics.get(f"val_{name}") for name in ("loss", "accuracy")}
        if self.swarm is not None:
            self.swarm.log(**{name: float(value) for name, value in told.items()
                              if value is not None})

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        del trainer, pl_module
        if self.swarm is not None:
            self.swarm.close()
