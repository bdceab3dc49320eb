"""`starling simulate` from Python: the same nodes in virtual time, and their curves as lists."""
from __future__ import annotations

import json
import subprocess
from typing import Any, Dict, List, Optional

from .errors import Error, NotFound
from .program import find_program

_GOAL_NOT_REACHED = 3
_CURVES = ("round", "time_s", "loss", "held_out_loss", "accuracy", "rmse", "distance",
           "distance_to_optimum", "bytes")


class Simulation:
    """What came of a simulation. A curve is a list with an item for each round, the mean over the
    nodes, None where it was not measured: round, time_s, loss, held_out_loss, accuracy, rmse,
    distance, distance_to_optimum and bytes."""

    def __init__(self, document: Dict[str, Any]) -> None:
        self.document = document  # all that the program says
        # Each at the end: name, round, loss, ...
        self.nodes: List[Dict[str, Any]] = document["nodes"]
        self.reached: bool = document["goal"]["reached"]
        for name in _CURVES:
            setattr(self, name, [point.get(name) for point in document["series"]])

    def __repr__(self) -> str:
        goal = self.document["goal"]
        last = {name: next((x for x in reversed(getattr(self, name)) if x is not None), None)
                for name in _CURVES[1:]}
        values = ", ".join(f"{name} {x:.4g}" for name, x in last.items() if x is not None)
        return (f"<Simulation of {len(self.nodes)} nodes, round {goal['round']}, goal "
                f"{'reached' if self.reached else 'not reached'} ({goal['reason']}): {values}>")


def simulate(nodes: int = 8, program: Optional[str] = None, config: Optional[str] = None,
             seed: int = 1, **settings: Any) -> Simulation:
    """Simulates `nodes` nodes with the settings of docs/settings.md and returns a Simulation.

    The first underscore of a setting stands for its dot and the others for dashes:
    optim_learning_rate=0.1 is optim.learning-rate; or write **{"data.reference.n": 4}. `program` is
    the path of the program, by default `starling` on $PATH; `config` that of a configuration.
    Raises NotFound without a program, and Error with its words where it refuses or fails."""
    found = find_program(program)
    command = [found, "simulate", "--json", "-n", str(nodes), "--seed", str(seed)]
    if config:
        command += ["-c", str(config)]
    command += [f"--{_key(name)}={_text(value)}" for name, value in settings.items()]
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise NotFound(f"{found}: {error.strerror}; expected the program `starling`") from error
    if run.returncode not in (0, _GOAL_NOT_REACHED):
        raise Error(run.stderr.strip() or f"{found} ended with {run.returncode}: {run.stdout}")
    return Simulation(json.loads(run.stdout))


def _key(name: str) -> str:
    return name if "." in name else name.replace("_", ".", 1).replace("_", "-")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
