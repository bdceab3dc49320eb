"""python -m starling: what the trainer's side has, and then the program `starling` with the same
arguments.

    python -m starling doctor
"""
from __future__ import annotations

import importlib.util
import os
import sys

from .blas import reference_blas
from .find import VARIABLE, folders, is_alive, sockets_of
from .program import find_program


def report() -> None:
    """Prints what attach() would find."""
    print(f"python    {sys.version.split()[0]}, {sys.executable}")
    for package in ("torch", "numpy"):
        is_there = importlib.util.find_spec(package) is not None
        print(f"{package:9} {'installed' if is_there else 'not installed'}")
    slow = reference_blas(load=True)
    if slow is not None:
        print(f"blas      {slow}")
    named = os.environ.get(VARIABLE)
    if named:
        print(f"socket    {named}, by {VARIABLE}")
    for socket in (path for folder in folders() for path in sockets_of(folder)):
        print(f"socket    {socket}, {'a daemon listens' if is_alive(socket) else 'nobody listens'}")


def main() -> None:
    if sys.argv[1:2] == ["doctor"]:
        report()
    program = find_program()
    sys.stdout.flush()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
