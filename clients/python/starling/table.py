"""The table of tensors: what each is called, its shape, its type of numbers, and its role."""
from __future__ import annotations

import fnmatch
import json
import math
from dataclasses import dataclass
from typing import Iterable, List, Mapping, Optional, Sequence, Tuple, overload

ALIGNMENT = 64  # bytes; of regions and tensors
TENSORS_LIMIT = 65_536
TEXT_BYTES_LIMIT = 8 << 20

NUMBER_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8}
FLOATING = ("f64", "f32", "f16", "bf16")
ROLES = ("averaged", "statistic", "donor", "local")


def aligned(size: int, alignment: int = ALIGNMENT) -> int:
    return -(-size // alignment) * alignment


@dataclass
class Entry:
    """One tensor of the table; `offset` is in bytes from the begin of the region `values`."""

    name: str
    shape: Tuple[int, ...]
    dtype: str
    role: str
    offset: int = 0
    frozen: bool = False  # nothing steps it

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"tensor {self.name}: the role {self.role!r} is none of {ROLES}")
        if self.role in ("averaged", "statistic") and self.dtype not in FLOATING:
            raise ValueError(f"tensor {self.name} holds integers: its role can be donor or local, "
                             f"not {self.role}")

    @property
    def count(self) -> int:
        """How many numbers the tensor holds."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.count * NUMBER_BYTES[self.dtype]


class Roles:
    """The roles that a trainer asks for, by names of tensors or by patterns as of a shell: `ema.*`.
    A name goes before a pattern."""

    def __init__(self, asked: Mapping[str, str]) -> None:
        self._asked = dict(asked)

    @overload
    def get(self, name: str) -> Optional[str]: ...
    @overload
    def get(self, name: str, default: str) -> str: ...

    def get(self, name: str, default: Optional[str] = None) -> Optional[str]:
        found = self._asked.get(name)
        return found or next((role for pattern, role in self._asked.items()
                              if fnmatch.fnmatchcase(name, pattern)), default)

    def of(self, name: str, default: str, is_floating: bool) -> str:
        """As get(), but a pattern that averages takes the integers that fit it of a donor."""
        role = self.get(name, default)
        takes = is_floating or name in self._asked or role not in ("averaged", "statistic")
        return role if takes else "donor"

    def unused(self, names: Iterable[str]) -> List[str]:
        """Those that fit no tensor."""
        known = list(names)
        return sorted(asked for asked in self._asked
                      if asked not in known and not fnmatch.filter(known, asked))


def lay_out(entries: Sequence[Entry]) -> int:
    """Sets the offset of each tensor, one behind the other, and returns the bytes of all."""
    if not entries:
        raise ValueError("there is no tensor to train")
    if len(entries) > TENSORS_LIMIT:
        raise ValueError(f"{len(entries)} tensors; at most {TENSORS_LIMIT} are allowed")
    end = 0
    for entry in entries:
        entry.offset = end
        end = aligned(end + entry.bytes)
    return end


def text_of(entries: Sequence[Entry]) -> bytes:
    """The table as the daemon reads it."""
    text = json.dumps([vars(entry) for entry in entries], separators=(",", ":")).encode()
    if len(text) > TEXT_BYTES_LIMIT:
        raise ValueError(f"a table of {len(text)} bytes; at most {TEXT_BYTES_LIMIT} are allowed")
    return text
