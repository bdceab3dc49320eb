"""A session with the daemon: from `hello` to `end`, over as many connections as it takes."""
from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time
import weakref
from typing import Any, Callable, Dict, Optional

from .errors import DaemonGone, Garbled, NotFound, Refused, TimedOut
from .find import find_socket
from .segment import Segment
from .wire import VERSION, Connection, Deadline, Record, finite_only

CLIENT = "python 0.1"
RETRY_S = 0.02  # between two looks for a daemon; larger: later to attach, smaller: more looks

_sessions: "weakref.WeakSet[Session]" = weakref.WeakSet()


def pause(seconds: float) -> None:
    """Between two looks for a daemon that is waited for."""
    time.sleep(seconds)


class Session:
    """Speaks for one trainer; `before_hello` brings the values in the segment up to date, and gives
    the fields of hello that may have changed."""

    leads = True  # of the processes of its node; see group.py

    def __init__(self, segment: Segment, hello: Dict[str, Any], *, socket: Optional[str],
                 wait: bool, before_hello: Callable[[], Optional[Dict[str, Any]]]) -> None:
        self.segment = segment
        self.welcome: Record = {}
        self._hello = {"kind": "hello", "version": VERSION, "client": CLIENT,
                       "evaluates": False, "corrects": False, **hello,
                       "segment": segment.bytes, **segment.regions}
        self._socket = socket
        self._wait = wait
        self._before_hello = before_hello
        self._connection: Optional[Connection] = None
        _sessions.add(self)

    def begin(self, timeout: Optional[float] = None) -> Record:
        """Attaches and returns the first order of the daemon. With `wait` a daemon that is not
        there, or goes, is waited for. Raises NotFound, Refused, DaemonGone or TimedOut."""
        deadline = Deadline(timeout)
        while True:
            try:
                return self._attach(deadline)
            except (NotFound, DaemonGone) as error:
                self.drop()
                if not self._wait:
                    raise
                if deadline.has_passed():
                    raise TimedOut(f"waited {timeout:g} s for a daemon: {error}") from error
            except BaseException:
                self.drop()
                raise
            pause(RETRY_S)

    def answer(self, done: Record, descriptor: Optional[int] = None) -> Record:
        """Sends what a job came to, with a file where there is one, and returns the next order.
        With `wait`, a daemon that goes is waited for and attached to again: the order is then the
        first of the new session."""
        try:
            return self._ask(done, descriptor)
        except DaemonGone:
            self.drop()
            if not self._wait:
                raise
            return self.begin()
        except BaseException:
            self.drop()
            raise

    def take_descriptor(self) -> int:
        """The file that came with the last order, for the caller to close; -1 if none did."""
        return -1 if self._connection is None else self._connection.take_descriptor()

    def delivered(self) -> None:
        """The parameters of the last order are taken."""

    def tell(self, record: Record) -> None:
        """Sends a record that nothing answers. A daemon that is gone is noticed by `answer`."""
        if self._connection is not None:
            with contextlib.suppress(DaemonGone):
                self._connection.send(record)

    def close(self) -> None:
        """Ends in order: tells the daemon, if it is there, that the trainer goes."""
        self.tell({"kind": "close"})
        self.drop()
        self.segment.close()

    def drop(self) -> None:
        """Closes the connection and tells nothing, as a crash would."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _attach(self, deadline: Deadline) -> Record:
        connection = Connection(find_socket(self._socket), deadline)
        self._connection = connection
        self.segment.over[0] = 0
        self._hello.update(self._before_hello() or {})
        connection.send(self._hello, self.segment.descriptor)
        self.welcome = self._receive(deadline)
        if self.welcome["kind"] != "welcome":
            raise Garbled(f"the daemon at {connection.path} answered hello by "
                          f"{self.welcome['kind']!r}; expected welcome or refused")
        if self.welcome.get("version") != VERSION:
            raise Refused(f"the daemon at {connection.path} speaks version "
                          f"{self.welcome.get('version')} of the interface and this client version "
                          f"{VERSION}; install daemon and client of one release")
        return self._receive(deadline)

    def _ask(self, done: Record, descriptor: Optional[int]) -> Record:
        if self._connection is None:
            raise DaemonGone("the session with the daemon is over; attach again")
        with contextlib.suppress(DaemonGone):  # what the daemon said before it closed says why
            self._connection.send(finite_only(done), descriptor)
        return self._receive(Deadline())

    def _receive(self, deadline: Deadline) -> Record:
        assert self._connection is not None
        record = self._connection.receive(deadline)
        if record["kind"] == "refused":
            raise Refused(f"the daemon at {self._connection.path} refuses this trainer: "
                          f"{record.get('reason', 'it gave no reason')}")
        return record


def _forget_connections() -> None:
    """In a forked child, such as a worker of a DataLoader: its copies of the sockets would keep
    the daemon from seeing that the trainer died."""
    for session in list(_sessions):
        session.drop()


os.register_at_fork(after_in_child=_forget_connections)


def _say_goodbye() -> None:
    """At the end of a script without swarm.close(); one that an exception ended has crashed."""
    if not hasattr(sys, "last_type"):
        for session in list(_sessions):
            session.tell({"kind": "close"})


atexit.register(_say_goodbye)
