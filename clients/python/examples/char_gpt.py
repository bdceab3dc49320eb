#!/usr/bin/env python3
"""A small transformer that learns to spell Shakespeare, on a node or alone.

    starling up -n 4 --model.kind=external --trainer "python3 clients/python/examples/char_gpt.py"
    char_gpt.py --alone 300 --muon 0.02

Each node holds the lines of other speakers. The last tenth of the text is held out.
"""
import argparse
import gzip
import sys
import zlib
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "clients" / "python"))
import starling  # noqa: E402
from muon import muon_and_adamw  # noqa: E402

WINDOW = 64  # characters
WIDTH, HEADS, LAYERS = 64, 4, 2


class Transformer(nn.Module):
    """Characters before to the character that follows. The embedding is the last layer too."""

    def __init__(self, letters, width=WIDTH, layers=LAYERS):
        super().__init__()
        self.embedding = nn.Embedding(letters, width)
        self.position = nn.Parameter(0.02 * torch.randn(WINDOW, width))
        layer = nn.TransformerEncoderLayer(width, HEADS, 4 * width, dropout=0.0, batch_first=True,
                                           norm_first=True, activation="gelu")
        self.layers = nn.TransformerEncoder(layer, layers)
        self.norm = nn.LayerNorm(width)
        self.last = nn.Linear(width, letters, bias=False)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.last.weight = self.embedding.weight
        future = torch.full((WINDOW, WINDOW), float("-inf")).triu(1)
        self.register_buffer("future", future, persistent=False)

    def forward(self, letters):
        x = self.embedding(letters) + self.position
        return self.last(self.norm(self.layers(x, mask=self.future)))


def lines_of(text, place, nodes):
    """The speeches of the speakers whose names fall to this node."""
    speeches = text.split("\n\n")
    mine = [speech for speech in speeches
            if zlib.crc32(speech.split(":")[0].encode()) % nodes == place]
    return "\n\n".join(mine)


def windows_of(numbers, batch):
    """Letters, and those that follow, from random places of a text."""
    begins = torch.randint(len(numbers) - WINDOW, (batch,))
    rows = numbers[begins[:, None] + torch.arange(WINDOW + 1)]
    return rows[:, :-1], rows[:, 1:]


def loss_of(model, letters, following):
    return functional.cross_entropy(model(letters).flatten(0, 1), following.flatten())


def held_out_loss(model, numbers):
    rows = numbers[:64 * WINDOW + 1]
    with torch.no_grad():
        return loss_of(model, rows[:-1].view(64, WINDOW), rows[1:].view(64, WINDOW)).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path,
                        default=ROOT.parent / "shared" / "data" / "tiny-shakespeare.txt.gz")
    parser.add_argument("--alone", type=int, metavar="STEPS", help="without a daemon")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--muon", type=float, metavar="RATE", help="of the layers' matrices; 0.02")
    parser.add_argument("--width", type=int, default=WIDTH, help=f"a multiple of {HEADS}")
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--every", type=int, default=50, help="steps between evaluations")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    text = gzip.decompress(options.data.read_bytes()).decode()
    alphabet = {letter: number for number, letter in enumerate(sorted(set(text)))}
    kept = len(text) * 9 // 10
    def numbers_of(part):
        return torch.tensor([alphabet[letter] for letter in part])
    tests = numbers_of(text[kept:])
    model = Transformer(len(alphabet), options.width, options.layers)
    optimizers = (muon_and_adamw(model, model.layers, options.muon, options.rate) if options.muon
                  else [torch.optim.AdamW(model.parameters(), lr=options.rate)])
    swarm = (starling.alone(options.alone) if options.alone
             else starling.attach(model, optimizers, wait=True, timeout=600))
    status = swarm.status
    torch.manual_seed(2 + status.place)  # of the windows
    mine = numbers_of(lines_of(text[:kept], status.place, status.nodes))
    while swarm.is_running:
        loss = loss_of(model, *windows_of(mine, options.batch))
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        model.zero_grad()
        swarm.step(loss=loss, samples=options.batch)
        if swarm.status.steps % options.every == 0:
            held_out = held_out_loss(model, tests)
            swarm.log(loss=held_out)
            print(f"step {swarm.status.steps}: loss {loss.item():.4f}, held out {held_out:.4f}",
                  flush=True)
    print(f"{swarm.end_reason}: held out {held_out_loss(model, tests):.4f}", flush=True)
    swarm.close()


if __name__ == "__main__":
    main()
