"""What a trainer warns its user of, which its node shows too: a log beside the node may never be
read."""
from __future__ import annotations

import warnings
from typing import List

_untold: List[str] = []
_LIMIT = 16


def warn(text: str, stacklevel: int) -> None:
    """A RuntimeWarning, as warnings.warn() gives it, and a note for the node."""
    warnings.warn(text, RuntimeWarning, stacklevel=stacklevel + 1)
    if text not in _untold and len(_untold) < _LIMIT:
        _untold.append(text)


def take() -> List[str]:
    """The notes that no node was told yet."""
    notes, _untold[:] = list(_untold), []
    return notes
