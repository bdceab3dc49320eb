"""Mode `gradients`: the daemon takes the steps and asks this process for losses and gradients."""
from __future__ import annotations

import math
from typing import Any, Callable, Collection, Mapping, Optional

from .errors import Garbled
from .segment import Segment
from .session import Session
from .tensors import hold
from .wire import Record

# (x, batch, gradients) -> mean loss. `x` and `gradients` are tensors by name, in the shared memory.
# `batch` holds numbers of samples; None stands for all. The function writes into the gradients.
Function = Callable[[Mapping[str, Any], Any, Mapping[str, Any]], Any]
# (x, limit) -> {"loss", "accuracy", "rmse"}, any of them; `limit` samples at most, None for all.
Evaluation = Callable[[Mapping[str, Any], Optional[int]], Mapping[str, Any]]


def serve(function: Function, *, model: Any = None, tensors: Optional[Mapping[str, Any]] = None,
          samples: int, evaluate: Optional[Evaluation] = None, socket: Optional[str] = None,
          wait: bool = False, timeout: Optional[float] = None,
          roles: Optional[Mapping[str, str]] = None, local: Collection[str] = ()) -> str:
    """Answers the daemon until the run is over, and returns why it is over.

    With a torch module as `model` the function may call loss.backward() instead of writing into
    the gradients: those of the parameters are zero before and taken after. `samples` is what this
    trainer holds; the daemon draws its batches from 0 to samples - 1. The other arguments, and the
    errors, are those of `attach`. An exception of the function ends the session and passes on.
    """
    server = Server(function, evaluate, hold(model, [], tensors, roles or {}, local),
                    int(samples))
    session = Session(server.segment, {"mode": "gradients", "samples": int(samples),
                                       "evaluates": evaluate is not None},
                      socket=socket, wait=wait, before_hello=server.tensors.collect)
    try:
        order = session.begin(timeout)
        while order["kind"] != "end":
            order = session.answer(server.done(order))
        if order.get("model"):
            server.tensors.deliver(False)
    finally:
        session.drop()
        server.segment.close()
    return str(order.get("reason", "the daemon gave no reason"))


class Server:
    """What answers one order of the daemon."""

    def __init__(self, function: Function, evaluate: Optional[Evaluation], tensors: Any,
                 samples: int) -> None:
        self.tensors = tensors
        self._samples = samples
        self.segment = Segment(tensors.entries, gradient=True, batch_limit=samples)
        tensors.bind(self.segment)
        self._function = function
        self._evaluate = evaluate

    def done(self, order: Record) -> Record:
        self.tensors.deliver(False)
        self.segment.progress[0] += 1
        if order["kind"] == "gradient":
            fields = self._gradient(int(order.get("batch", 0)))
        elif order["kind"] == "evaluate" and self._evaluate is not None:
            asked = self._evaluate(self.tensors.arrays, int(order.get("limit", 0)) or None)
            fields = {name: float(asked[name]) for name in ("loss", "accuracy", "rmse")
                      if asked.get(name) is not None}
        else:
            raise Garbled(f"the daemon sent {order}; expected gradient, evaluate or end")
        return {"kind": "done", "job": order.get("job", 0), **fields}

    def _gradient(self, count: int) -> Record:
        if count > self._samples:
            raise Garbled(f"the daemon asks for {count} samples of {self._samples}")
        self.tensors.clear_gradients()
        batch = self.tensors.batch(self.segment, count) if count else None
        loss = float(self._function(self.tensors.arrays, batch, self.tensors.gradients))
        self.tensors.collect_gradients()
        fields: Record = {"loss": loss, "samples": count or self._samples}
        name = self.tensors.gradient_fault()
        if not math.isfinite(loss):
            fields["refusal"] = f"the loss is {loss}"
        elif name is not None:
            fields["refusal"] = f"the gradient of {name} is not finite"
        return fields
