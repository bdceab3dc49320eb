"""A training loop of your own beside the daemon of Starling, in a few lines:

    swarm = starling.attach(model, optimizer)
    for batch in swarm.batches(loader):
        loss = ...; loss.backward(); optimizer.step(); optimizer.zero_grad()
        swarm.step(loss=loss)
"""
from . import for_jax, for_keras, for_lightning, for_sklearn, for_transformers
from .alone import Alone, alone
from .errors import DaemonGone, Error, Garbled, NotFound, Refused, TimedOut
from .model_file import load
from .serving import serve
from .simulate import simulate
from .status import Status
from .swarm import Swarm, attach

__version__ = "0.1.0"
__all__ = ["Alone", "DaemonGone", "Error", "Garbled", "NotFound", "Refused", "Status", "Swarm",
           "TimedOut", "alone", "attach", "for_jax", "for_keras", "for_lightning", "for_sklearn",
           "for_transformers", "load", "serve", "simulate"]
