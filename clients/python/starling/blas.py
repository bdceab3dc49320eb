"""Which BLAS PyTorch or numpy computes with, where it is the slow one."""
from __future__ import annotations

import importlib.util
import os
import sys
from typing import Optional


def reference_blas(load: bool = False) -> Optional[str]:
    """A sentence if the reference BLAS is in use, many times slower than others. `load`: import
    PyTorch or numpy where neither is yet."""
    if load and "torch" not in sys.modules and "numpy" not in sys.modules:
        for package in ("torch", "numpy"):
            if importlib.util.find_spec(package) is not None:
                importlib.import_module(package)
                break
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if "libblas.so" in line}
    except OSError:
        return None
    slow = next((path for path in sorted(paths) if os.path.dirname(path).endswith("/blas")), None)
    if slow is None:
        return None
    return (f"{slow} is the reference BLAS, many times slower than OpenBLAS: install "
            "libopenblas0-pthread (Debian), or a PyTorch with a BLAS of its own")
