"""Finds the socket of the daemon: an argument, the environment, or the only one there is."""
from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import List, Optional

from .errors import NotFound

VARIABLE = "STARLING_SOCKET"


def folders() -> List[Path]:
    """Where daemons without a data folder put their sockets; the first is searched first."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    found = [Path(runtime) / "starling"] if runtime else []
    return found + [Path(f"/tmp/starling-{os.getuid()}")]


def sockets_of(folder: Path) -> List[Path]:
    """The sockets of a folder of this user's own. In /tmp anyone can make a folder of any name."""
    try:
        if folder.stat().st_uid != os.getuid():
            return []
        return sorted(path for path in folder.glob("*.sock") if path.is_socket())
    except OSError:
        return []


def is_alive(path: Path) -> bool:
    """A process listens there; the socket of a daemon that was killed stays."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        try:
            probe.settimeout(1)
            probe.connect(str(path))
        except OSError:
            return False
    return True


def find_socket(path: Optional[str] = None) -> str:
    """The path of the socket to connect to. Raises NotFound where there is none, or several."""
    named = path or os.environ.get(VARIABLE)
    if named:
        return os.fspath(named)
    found = [path for folder in folders() for path in sockets_of(folder)]
    alive = [path for path in found if len(found) == 1 or is_alive(path)]
    if len(alive) == 1:
        return str(alive[0])
    searched = " and ".join(str(folder) for folder in folders())
    if not found:
        raise NotFound(f"no socket of a daemon in {searched}; start a node with "
                       f"model.kind = external, or name its socket (trainer.socket of /v1/status) "
                       f"with attach(socket=...) or in {VARIABLE}")
    if not alive:
        raise NotFound(f"no daemon listens at any of the {len(found)} sockets in {searched}; start "
                       "a node with model.kind = external")
    listed = ", ".join(str(path) for path in alive)
    raise NotFound(f"{len(alive)} daemons listen in {searched}: {listed}; name one of them "
                   f"with attach(socket=...) or in {VARIABLE}")
