"""A callback for Model.fit of Keras, over any of its backends:

    model.fit(..., callbacks=[starling.for_keras.StarlingCallback()])

The contract is that of keras.callbacks.Callback, version 3; the package is imported by nobody but
the user. Keras corrects no gradients: start the nodes with --optim.algorithm=dpsgd.
"""
from __future__ import annotations

from typing import Any, Dict, Optional

from .copies import CopiedModel


class StarlingCallback:
    """Attaches when fit() begins, and exchanges after batches; `options` are those of attach."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._node: Optional[CopiedModel] = None
        self.model: Any = None
        self.params: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_"):
            return lambda *_, **__: None
        raise AttributeError(name)

    def set_model(self, model: Any) -> None:
        self.model = model

    def set_params(self, params: Any) -> None:
        self.params = params

    def on_train_begin(self, logs: Optional[Dict[str, float]] = None) -> None:
        del logs
        names = [f"{number}.{getattr(weight, 'name', 'weight')}"
                 for number, weight in enumerate(self.model.weights)]
        self._node = CopiedModel(lambda: dict(zip(names, self.model.get_weights())),
                                 lambda values: self.model.set_weights(
                                     [values[name] for name in names]), **self._options)

    def on_train_batch_end(self, batch: int, logs: Optional[Dict[str, float]] = None) -> None:
        del batch
        assert self._node is not None
        if not self._node.step(loss=(logs or {}).get("loss")):
            self.model.stop_training = True

    def on_test_end(self, logs: Optional[Dict[str, float]] = None) -> None:
        told = {name: (logs or {}).get(name) for name in ("loss", "accuracy")}
        if self._node is not None:
            self._node.swarm.log(**{name: value for name, value in told.items()
                                    if value is not None})

    def on_train_end(self, logs: Optional[Dict[str, float]] = None) -> None:
        del logs
        if self._node is not None:
            self._node.swarm.close()
