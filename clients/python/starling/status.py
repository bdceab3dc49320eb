"""What a trainer knows of its run."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Status:
    """What the trainer knows of its run."""

    node: str
    algorithm: str
    round: int
    place: int  # of this node among `nodes`, from 0
    nodes: int
    local_steps: int  # H, of the round that is under way
    learning_rate: Optional[float]  # of the daemon's schedule; the trainer's optimizer has its own
    steps: int  # all calls of step()
    exchanges: int
    waited_seconds: float  # for the daemon, within step()
    copied_bytes: int  # to and from tensors that do not alias the segment
    epoch: int = 0  # of batches(), from 0
