"""Estimators of scikit-learn that have partial_fit, as SGDClassifier, SGDRegressor and the MLPs:

    node = starling.for_sklearn.attach(estimator, x[:1], y[:1], classes=[0, 1])
    for rows in node.swarm.batches(batches_of_rows):
        if not node.partial_fit(x[rows], y[rows]):
            break

They correct no gradients: start the nodes with --optim.algorithm=dpsgd.
"""
from __future__ import annotations

from typing import Any, Dict, List, Mapping

from .copies import CopiedModel

# What partial_fit learns, in an array or a list of arrays.
_LEARNED = ("coef_", "intercept_", "coefs_", "intercepts_")


class Estimator:
    """A node whose model is the estimator's; made by attach()."""

    def __init__(self, estimator: Any, x: Any, y: Any, classes: Any = None,
                 **options: Any) -> None:
        self.estimator = estimator
        self._classes: Dict[str, Any] = {} if classes is None else {"classes": classes}
        estimator.partial_fit(x, y, **self._classes)  # makes its arrays
        self._node = CopiedModel(self._arrays, self._take, **options)

    @property
    def swarm(self) -> Any:
        return self._node.swarm

    def partial_fit(self, x: Any, y: Any) -> bool:
        """One step on these rows; exchanges as Swarm.step(). False once the run is over."""
        self.estimator.partial_fit(x, y, **self._classes)
        return self._node.step(loss=getattr(self.estimator, "loss_", None), samples=len(x))

    def close(self) -> None:
        self._node.swarm.close()

    def _arrays(self) -> Mapping[str, Any]:
        arrays: Dict[str, Any] = {}
        for name in _LEARNED:
            value = getattr(self.estimator, name, None)
            if isinstance(value, list):
                arrays.update({f"{name}.{number}": array for number, array in enumerate(value)})
            elif value is not None:
                arrays[name] = value
        return arrays

    def _take(self, values: Mapping[str, Any]) -> None:
        for name in _LEARNED:
            value = getattr(self.estimator, name, None)
            if isinstance(value, list):
                parts: List[Any] = value
                for number, part in enumerate(parts):
                    part[...] = values[f"{name}.{number}"]
            elif value is not None:
                value[...] = values[name]


def attach(estimator: Any, x: Any, y: Any, classes: Any = None, **options: Any) -> Estimator:
    """Attaches an estimator, after one partial_fit on the first rows, which only makes its arrays:
    their values are then those of the network. `options` are those of starling.attach."""
    return Estimator(estimator, x, y, classes, **options)
