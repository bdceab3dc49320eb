"""Finds the socket of the daemon: an argument, the environment, or the only one there is."""
from __future__ import annotations

import os
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


def find_socket(path: Optional[str] = None) -> str:
    """The path of the socket to connect to. Raises NotFound where there is none, or several."""
    named = path or os.environ.get(VARIABLE)
    if named:
        return os.fspath(named)
    found = [socket for folder in folders() for socket in sockets_of(folder)]
    if len(found) == 1:
        return str(found[0])
    searched = " and ".join(str(folder) for folder in folders())
    if not found:
        raise NotFound(f"no socket of a daemon in {searched}; start a node with "
                       f"model.kind = external, or name its socket (trainer.socket of /v1/status) "
                       f"with attach(socket=...) or in {VARIABLE}")
    listed = ", ".join(str(socket) for socket in found)
    raise NotFound(f"{len(found)} sockets of daemons in {searched}: {listed}; name one of them "
                   f"with attach(socket=...) or in {VARIABLE}, and remove those of dead daemons")
