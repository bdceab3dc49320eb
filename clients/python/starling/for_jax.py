"""A loop of JAX, whose parameters are a tree of arrays:

    node = starling.for_jax.attach(params)
    params = node.params
    while node.is_running:
        params, opt_state, loss = update(params, opt_state, next(batches))
        params = node.step(params, loss=loss)

JAX is imported when attach() is called. Its arrays cannot be written to: they are copied at
exchanges. A correction of gradients is for the loop to add; without one start the nodes with
--optim.algorithm=dpsgd.
"""
from __future__ import annotations

from typing import Any, Mapping

from .copies import CopiedModel


class Tree:
    """A node whose parameters are a tree; made by attach()."""

    def __init__(self, params: Any, **options: Any) -> None:
        import jax
        import numpy
        leaves, self._shape = jax.tree_util.tree_flatten_with_path(params)
        self._names = [jax.tree_util.keystr(path) for path, _ in leaves]
        self._jax, self._numpy = jax, numpy
        self.params = params
        self._node = CopiedModel(self._arrays, self._take, **options)

    @property
    def swarm(self) -> Any:
        return self._node.swarm

    @property
    def is_running(self) -> bool:
        return self._node.swarm.is_running

    def step(self, params: Any, **told: Any) -> Any:
        """Counts a step that led to `params`, as Swarm.step(), and returns what to go on from."""
        self.params = params
        self._node.step(**told)
        return self.params

    def close(self) -> None:
        self._node.swarm.close()

    def _arrays(self) -> Mapping[str, Any]:
        leaves = self._jax.tree_util.tree_leaves(self.params)
        return {name: self._numpy.asarray(leaf) for name, leaf in zip(self._names, leaves)}

    def _take(self, values: Mapping[str, Any]) -> None:
        leaves = [self._jax.numpy.asarray(values[name]) for name in self._names]
        self.params = self._jax.tree_util.tree_unflatten(self._shape, leaves)


def attach(params: Any, **options: Any) -> Tree:
    """`options` are those of starling.attach."""
    return Tree(params, **options)
