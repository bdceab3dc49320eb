#!/usr/bin/env python3
"""What a round costs with a trainer beside the daemon, beside the same round of the built-in model.

    attach_exchange.py [--megabytes 100] [--pairs 5] [--seconds 8] [--kinds trainer built-in] [--tensors 1]
                       [--nodes 2] [--topology ring] [--exchange.schedule=allreduce ...]

Nodes on loopback average a vector of so many MB in every round. The built-in model is an mlp of
as many parameters that looks at one sample a round; the trainer beside the daemon is Python that
adds one to its parameters. Both run in turn; the figure is the ratio of the times of their rounds,
pair by pair, with the memory of a node beside it. `--kinds staged torch` compares a trainer whose
tensors of PyTorch are copied, as those of a GPU are, with one whose tensors alias the memory; `half`
is one of bfloat16, whose numbers the daemon holds as so many MB of f32. --tensors deals the model
out to so many tensors of PyTorch. `gloo` and `gloo-sum` are PyTorch alone over gloo: the mean with
the neighbours on the topology, and all_reduce. Other arguments are settings of the daemon.
"""
import argparse
import statistics
import sys

from cluster import PYTHON, ROOT, Peers, Starling

INPUTS, CLASSES = 784, 10
TRAINER = """
import sys; sys.path.insert(0, sys.argv[1])
import numpy, starling
swarm = starling.attach(tensors={"w": numpy.zeros(int(sys.argv[2]), numpy.float32)})
w = swarm.tensors["w"]
while swarm.step(loss=1.0):
    w[:1] += 1
"""
TORCH = """
import sys; sys.path.insert(0, sys.argv[1])
import torch, starling
size, count, kind = int(sys.argv[2]), int(sys.argv[3]), getattr(torch, sys.argv[4])
swarm = starling.attach(tensors={f"w{k}": torch.zeros(size // count, dtype=kind) for k in range(count)})
w = swarm.tensors["w0"]
while swarm.step(loss=1.0):
    w[:1] += 1
"""
COMMON = ["--optim.algorithm=dpsgd", "--eval.every=1000000000",
          "--stop.rounds=1000000000", "--cluster.preset=wan"]


def hidden_units(parameters):
    return round((parameters - CLASSES) / (INPUTS + 1 + CLASSES))


def arguments(kind, parameters, tensors=1):
    if kind == "built-in":
        return [*COMMON, "--model.kind=mlp", f"--model.hidden={hidden_units(parameters)}", "--optim.batch-size=1",
                "--optim.learning-rate=0.000001", "--data.samples=100"]
    begin = "env STARLING_STAGING=1 " if kind == "staged" else ""
    dtype = "bfloat16" if kind == "half" else "float32"
    script = (f"{begin}'{PYTHON}' -c '{TRAINER if kind == 'trainer' else TORCH}' '{ROOT / 'clients/python'}' "
              f"{parameters} {tensors} {dtype}")
    return [*COMMON, f"--trainer={script}"]


def peer_window(kind, options):
    """As window(); of PyTorch the memory is not looked at."""
    request = "sum" if kind == "gloo-sum" else "mix-all" if options.topology == "complete" else "mix"
    with Peers(options.nodes, None, str(hidden_units(options.megabytes * 250_000)), 1, 0) as peers:
        rounds = 5
        while True:
            taken = peers.ask(f"{request} {rounds}")["ms"] / 1e3
            if rounds * taken > options.seconds / 2:
                return taken, float("nan")
            rounds = int(options.seconds / taken) + 1


def window(kind, options):
    """Seconds of a round, and MB of memory of a node that are its own."""
    if kind in ("gloo", "gloo-sum"):
        return peer_window(kind, options)
    with Starling(options.nodes, None, [
            f"--topology.kind={options.topology}", *options.settings,
            *arguments(kind, options.megabytes * 250_000, options.tensors)]) as cluster:
        return cluster.pace(options.seconds)[0], cluster.nodes[0].kib("RssAnon") / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--kinds", nargs=2, default=["trainer", "built-in"],
                        choices=["trainer", "built-in", "torch", "staged", "half", "gloo", "gloo-sum"])
    parser.add_argument("--tensors", type=int, default=1, help="of PyTorch, that the model consists of")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--topology", default="ring", choices=["ring", "complete"])
    options, options.settings = parser.parse_known_args()
    first, second = options.kinds
    ratios = []
    for pair in range(options.pairs):
        kinds = [second, first] if pair % 2 else [first, second]
        found = {kind: window(kind, options) for kind in kinds}
        ratios.append(found[first][0] / found[second][0])
        print(f"pair {pair}: a round takes {1e3 * found[first][0]:.0f} ms ({first}) and "
              f"{1e3 * found[second][0]:.0f} ms ({second}), {ratios[-1]:.3f}; a node holds "
              f"{found[first][1]:.0f} and {found[second][1]:.0f} MB", flush=True)
    print(f"a round of {options.megabytes} MB of {options.nodes} nodes, {first} beside {second}: {statistics.median(ratios):.3f} "
          f"({min(ratios):.3f} to {max(ratios):.3f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
