"""The connection to the daemon: records of JSON over a unix socket of type SOCK_SEQPACKET.

docs/attach.md describes the records. One thread uses a connection at a time.
"""
from __future__ import annotations

import errno
import json
import math
import os
import socket
import time
from typing import Any, Dict, List, Optional

from .errors import DaemonGone, Garbled, NotFound, TimedOut

VERSION = 1
RECORD_BYTES_LIMIT = 65_536
PATH_BYTES_LIMIT = 107  # of sun_path, without its last byte

Record = Dict[str, Any]


class Deadline:
    """A point in time, or none."""

    def __init__(self, timeout: Optional[float] = None) -> None:
        self._end = None if timeout is None else time.monotonic() + timeout

    def left(self) -> Optional[float]:
        """Seconds that are left, at least 0; None where there is no end."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def has_passed(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end


def finite_only(fields: Dict[str, Any]) -> Dict[str, Any]:
    """The fields that a record can hold: those that are not finite, and None, are absent."""
    return {name: value for name, value in fields.items() if value is not None
            and not (isinstance(value, float) and not math.isfinite(value))}


class Connection:
    """An open connection; the constructor raises NotFound where nobody listens."""

    def __init__(self, path: str, deadline: Deadline) -> None:
        self.path = path
        self._descriptor = -1
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._wait_until(deadline)
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise NotFound(_why_no_connection(path, error)) from None

    def send(self, record: Record, descriptor: Optional[int] = None) -> None:
        """Sends one record, with a file descriptor where one is given.

        Raises ValueError for a record above the limit, DaemonGone where the other end is closed.
        """
        data = json.dumps(record, allow_nan=False, separators=(",", ":")).encode()
        if len(data) > RECORD_BYTES_LIMIT:
            raise ValueError(f"a record of {len(data)} bytes ({record['kind']}); at most "
                             f"{RECORD_BYTES_LIMIT} are allowed")
        try:
            self._socket.settimeout(None)
            if descriptor is None:
                self._socket.send(data)
            else:
                socket.send_fds(self._socket, [data], [descriptor])
        except OSError as error:
            raise self._gone(error) from None

    def receive(self, deadline: Deadline) -> Record:
        """The next record. Raises DaemonGone at the end, Garbled, or TimedOut."""
        data = self._receive_bytes(deadline)
        if not data:
            raise self._gone(None)
        try:
            record = json.loads(data)
        except ValueError:
            record = None
        if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
            raise Garbled(f"the daemon at {self.path} sent what is no record: {data[:80]!r}; "
                          "daemon and client are of different versions")
        return record

    def take_descriptor(self) -> int:
        """The file that came with the last record, for the caller to close; -1 if none did."""
        descriptor, self._descriptor = self._descriptor, -1
        return descriptor

    def close(self) -> None:
        self._keep_descriptor([])
        self._socket.close()

    def _keep_descriptor(self, descriptors: List[int]) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = descriptors[0] if descriptors else -1

    def _receive_bytes(self, deadline: Deadline) -> bytes:
        for last in (False, True):
            try:
                self._wait_until(deadline)
                data, descriptors, _, _ = socket.recv_fds(
                    self._socket, RECORD_BYTES_LIMIT, 1, socket.MSG_CMSG_CLOEXEC)
                self._keep_descriptor(descriptors)
                return data
            except socket.timeout:
                raise TimedOut(f"the daemon at {self.path} did not answer in time; a larger "
                               "timeout waits longer for the network") from None
            except OSError as error:
                # A peer that closes with unread data resets; what it sent before can be read yet.
                if last or error.errno != errno.ECONNRESET:
                    raise self._gone(error) from None
        raise AssertionError("not reached")

    def _wait_until(self, deadline: Deadline) -> None:
        left = deadline.left()
        self._socket.settimeout(None if left is None else max(left, 1e-6))

    def _gone(self, error: Optional[OSError]) -> DaemonGone:
        why = f" ({os.strerror(error.errno)})" if error is not None and error.errno else ""
        return DaemonGone(f"the daemon at {self.path} closed the connection{why}; it was killed "
                          "or lost. Start it and attach again; attach(wait=True) does the latter")


def _why_no_connection(path: str, error: OSError) -> str:
    if len(os.fsencode(path)) > PATH_BYTES_LIMIT:
        return (f"the path {path} is longer than the {PATH_BYTES_LIMIT} bytes that a unix socket "
                "allows; use a shorter node.data-dir")
    if error.errno == errno.EACCES:
        return f"the socket {path} belongs to another user; run the trainer as the daemon's user"
    if error.errno == errno.ENOENT:
        return f"there is no socket {path}; start the node, or name its socket (trainer.socket)"
    if error.errno == errno.ECONNREFUSED:
        return f"nobody listens at {path}; the daemon that made the socket is gone: start it again"
    if error.errno == errno.EPROTOTYPE:
        return f"{path} is a socket of another kind; name the node's trainer.socket"
    return f"no connection to {path}: {error.strerror or error}"
