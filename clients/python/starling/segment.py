"""The memory that trainer and daemon share: a sealed memfd with the numbers of the model.

The regions begin on pages of their own. Memory that nobody writes to, such as the region of a
correction that no algorithm asks for, takes no page.
"""
from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import struct
import weakref
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from .table import Entry, aligned, lay_out, text_of

MAGIC = 0x3152524154535453  # "STSTARR1"
PROGRESS_OFFSET = 8
OVER_OFFSET = 16
HEADER_BYTES = 64
PAGE_BYTES = 4096
MAP_FIXED = 0x10
MADV_POPULATE_WRITE = 23  # of Linux 5.14; `mmap` names neither it nor MAP_FIXED


class Segment:
    """A new segment for these tensors, whose offsets are set; with `path`, the one that another
    process of this node made of the same tensors.

    `memory` is the mapping of the whole segment. It stays mapped as long as a tensor aliases it.
    """

    def __init__(self, entries: Sequence[Entry], *, corrects: bool = False, shifts: bool = False,
                 gradient: bool = False, batch_limit: int = 0,
                 path: Optional[str] = None) -> None:
        self.entries = list(entries)
        values_bytes = lay_out(self.entries)
        text = text_of(self.entries)
        sizes = {"table": len(text), "values": values_bytes}
        if corrects or shifts:
            sizes["correction"] = values_bytes
        if corrects or gradient:
            sizes["gradient"] = values_bytes
        if gradient:
            sizes["batch"] = aligned(max(4 * batch_limit, 1))
        self.regions: Dict[str, Dict[str, int]] = {}
        end = HEADER_BYTES
        for name, size in sizes.items():
            begin = end if name == "table" else aligned(end, PAGE_BYTES)
            self.regions[name] = {"offset": begin, "bytes": size}
            end = begin + size
        self.bytes = aligned(end, PAGE_BYTES)
        self.descriptor = (os.open(path, os.O_RDWR | os.O_CLOEXEC) if path is not None else
                           sealed("starling", lambda memfd: os.ftruncate(memfd, self.bytes)))
        if path is not None and os.fstat(self.descriptor).st_size != self.bytes:
            raise OSError(f"it has {os.fstat(self.descriptor).st_size} bytes and the tensors of "
                          f"this process need {self.bytes}")
        self.memory = mmap.mmap(self.descriptor, self.bytes)
        _keep_for_children(self.memory, os.dup(self.descriptor))
        if path is None:
            self._prepare("values")
            struct.pack_into("<QQ", self.memory, 0, MAGIC, 0)
            begin = self.regions["table"]["offset"]
            self.memory[begin:begin + len(text)] = text
        # A native u64: storing one is a single store, which the daemon never sees half of.
        self.progress = memoryview(self.memory)[PROGRESS_OFFSET:PROGRESS_OFFSET + 8].cast("Q")
        # Not 0 once the daemon waits for no more steps.
        self.over = memoryview(self.memory)[OVER_OFFSET:OVER_OFFSET + 8].cast("Q")

    def _prepare(self, region: str) -> None:
        """Maps the pages of a region at once, which costs less than one by one when touched."""
        place = self.regions[region]
        with contextlib.suppress(OSError):  # of a kernel before 5.14
            self.memory.madvise(MADV_POPULATE_WRITE, place["offset"],
                                aligned(place["bytes"], PAGE_BYTES))

    def offset_of(self, entry: Entry, region: str = "values") -> int:
        """Where the numbers of a tensor begin in the segment, in bytes."""
        return self.regions[region]["offset"] + entry.offset

    def close(self) -> None:
        """Closes the descriptor; the mapping ends with the last tensor that aliases it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


# The mappings that still exist, each with a descriptor of its memory.
_mappings: Dict[int, Tuple[Any, int]] = {}


def _keep_for_children(memory: mmap.mmap, descriptor: int) -> None:
    _mappings[id(memory)] = weakref.ref(memory), descriptor
    weakref.finalize(memory, _forget, id(memory), descriptor)


def _forget(key: int, descriptor: int) -> None:
    if _mappings.pop(key, None) is not None:
        os.close(descriptor)


def _make_private() -> None:
    """In a forked child: puts a private mapping in the place of each shared one, so that what the
    child writes reaches neither the trainer nor the daemon."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long]
    for reference, descriptor in _mappings.values():
        memory = reference()
        if memory is None:
            continue
        begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        at = libc.mmap(begin, len(memory), mmap.PROT_READ | mmap.PROT_WRITE,
                       mmap.MAP_PRIVATE | MAP_FIXED, descriptor, 0)
        if at != begin:
            raise OSError(ctypes.get_errno(), "no private copy of the model in a forked child")


os.register_at_fork(after_in_child=_make_private)


def sealed(name: str, fill: Callable[[int], None], seals: int = 0) -> int:
    """A memfd that can neither shrink nor grow once `fill` has filled it; its owner closes it."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        fill(descriptor)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | seals)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
