"""The program `starling`, which this package does not hold."""
from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Optional

from .errors import NotFound

VARIABLE = "STARLING_PROGRAM"


def find_program(path: Optional[str] = None) -> str:
    """Its path: the one given, else of the environment, else on PATH, else of a build in the source
    that this package lies in. Raises NotFound, which says how to get it."""
    named = path or os.environ.get(VARIABLE)
    built = Path(__file__).resolve().parents[3] / "build" / "release" / "daemon" / "starling"
    found = named or shutil.which("starling") or (str(built) if built.exists() else None)
    if found is None or not os.access(found, os.X_OK):
        raise NotFound(f"no program starling{f' at {found}' if found else ' on PATH'}: install the "
                       "Debian package (make deb in Starling's source, then apt install "
                       f"./build/deb/starling_*.deb), or name the program in {VARIABLE}")
    return found
