"""Copies between the segment and the memory of GPUs, beside the computation.

The segment is page-locked once. Copies of a device run in a stream of their own: those to the
segment begin after what the device computes now, and what it computes later begins after those from
the segment. The host waits once an exchange, before the daemon reads. On a CPU these are plain
copies.
"""
from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterable, Iterator

import torch

from .notes import warn
from .segment import Segment


class Streams:
    """The streams of one trainer, of the devices that its tensors lie on."""

    def __init__(self) -> None:
        self._streams: Dict[torch.device, Any] = {}
        self._locked = 0  # the address of the page-locked memory

    def lock(self, segment: Segment) -> None:
        """Page-locks the segment, which makes copies several times as fast and lets them run beside
        the computation. A refusal, as of a limit on locked memory, is warned of."""
        address = torch.frombuffer(segment.memory, dtype=torch.uint8).data_ptr()
        fault = torch.cuda.cudart().cudaHostRegister(address, segment.bytes, 0)
        if int(fault) != 0:
            warn(f"the {segment.bytes} bytes shared with the daemon are not page-locked (error "
                 f"{int(fault)} of cudaHostRegister); copies to and from the GPU are slower", 5)
        else:
            self._locked = address

    def release(self) -> None:
        if self._locked:
            torch.cuda.cudart().cudaHostUnregister(self._locked)
            self._locked = 0

    @contextlib.contextmanager
    def of(self, devices: Iterable[torch.device]) -> Iterator[None]:
        """Within it, copies of each of these devices run in its stream, after what the device
        computes now."""
        with contextlib.ExitStack() as entered:
            for device in devices:
                if device.type == "cuda":
                    if device not in self._streams:
                        self._streams[device] = torch.cuda.Stream(device)
                    stream = self._streams[device]
                    stream.wait_stream(torch.cuda.current_stream(device))
                    entered.enter_context(torch.cuda.stream(stream))
            yield

    def finish(self) -> None:
        """Waits until all copies are done."""
        for stream in self._streams.values():
            stream.synchronize()

    def join(self) -> None:
        """What the devices compute from now on begins after the copies; the host goes on."""
        for device, stream in self._streams.items():
            torch.cuda.current_stream(device).wait_stream(stream)
