"""What the tests of PyTorch have in common: a model of one neuron, and a swarm for it.

It ends with exit code 77, and a word, where there is no python3-torch.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients" / "python"))
from fake_daemon import FakeDaemon, needed  # noqa: E402

torch = needed("torch")

import starling  # noqa: E402


def linear():
    """One neuron: weight (1, 2) = (1, 2), no bias."""
    model = torch.nn.Linear(2, 1, bias=False)
    model.weight.data = torch.tensor([[1.0, 2.0]])
    return model


def take_step(model, optimizer):
    """Its gradient is (1, 3)."""
    optimizer.zero_grad()
    model(torch.tensor([[1.0, 3.0]])).sum().backward()
    optimizer.step()


def attached(script, model, optimizer=None, **options):
    daemon = FakeDaemon()
    daemon.run(script)
    return daemon, starling.attach(model, optimizer, socket=daemon.path, **options)


def one_round(trainer, count=1, **fields):
    trainer.welcome()
    trainer.step(count, **fields)
    done = trainer.done()
    trainer.end()
    return done
