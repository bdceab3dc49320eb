"""The daemon's end of docs/attach.md, for tests of clients: says what a test's script says.

A script is a function of the daemon that runs in a thread of its own, so that the client under test
has the main thread. Every wait has a deadline, and a script that fails fails its test.
"""
import fcntl
import json
import mmap
import os
import socket
import struct
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from nodes.watch import DEADLINE_S, needed  # noqa: E402,F401

# No note about the library that the machine of the tests computes with.
os.environ.setdefault("STARLING_SLOW_BLAS", "fine")

MAGIC = b"STSTARR1"
TYPES = {"f64": "d", "f32": "f", "i64": "q"}
NUMBER_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8}
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


class Trainer:
    """An accepted connection: its hello, and views into its segment."""

    def __init__(self, connection):
        connection.settimeout(DEADLINE_S)
        self.connection = connection
        data, descriptors, _, _ = socket.recv_fds(connection, 65536, 1)
        self.hello = json.loads(data)
        assert self.hello["kind"] == "hello" and self.hello["version"] == 1, self.hello
        assert len(descriptors) == 1, "hello brings one file descriptor"
        descriptor, = descriptors
        assert fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & SEALS == SEALS, "not sealed"
        assert os.fstat(descriptor).st_size == self.hello["segment"]
        self.memory = mmap.mmap(descriptor, self.hello["segment"])
        os.close(descriptor)
        assert self.memory[:8] == MAGIC
        self.rows = json.loads(self.region("table").tobytes())
        # Without the rows of the client itself.
        self.table = [row for row in self.rows if not row["name"].startswith("starling.")]
        self.job = 0
        self.notes = []  # that came with records that were heard
        self._check_layout()

    def region(self, name):
        place = self.hello[name]
        return memoryview(self.memory)[place["offset"]:place["offset"] + place["bytes"]]

    def row(self, name):
        return next(row for row in self.rows if row["name"] == name)

    def numbers(self, name, region="values"):
        """The numbers of a tensor, flat, to read and to write."""
        row = self.row(name)
        size = count_of(row) * NUMBER_BYTES[row["dtype"]]
        return self.region(region)[row["offset"]:row["offset"] + size].cast(TYPES[row["dtype"]])

    def write(self, name, values, region="values"):
        numbers = self.numbers(name, region)
        assert len(numbers) == len(values), (name, len(numbers))
        for place, value in enumerate(values):
            numbers[place] = value

    def write_batch(self, numbers):
        struct.pack_into(f"<{len(numbers)}I", self.memory, self.hello["batch"]["offset"], *numbers)

    @property
    def progress(self):
        return struct.unpack_from("<Q", self.memory, 8)[0]

    def tell_over(self):
        """No more steps are waited for."""
        struct.pack_into("<Q", self.memory, 16, 1)

    def say(self, kind, **fields):
        self.connection.send(json.dumps({"kind": kind, **fields}).encode())

    def hear(self, kind):
        record = self.any(notes=kind == "note")
        assert record["kind"] == kind, f"expected {kind}: {record}"
        return record

    def any(self, notes=False):
        """The next record of whatever kind, but notes only if they are asked for."""
        while True:
            data = self.connection.recv(65536)
            assert data, "the trainer is gone"
            record = json.loads(data)
            if notes or record["kind"] != "note":
                return record
            self.notes.append(record["text"])

    def next_but_log(self):
        """The next record that is no log."""
        while True:
            record = self.any()
            if record["kind"] != "log":
                return record

    def hear_nothing_more(self):
        assert self.connection.recv(65536) == b"", "the trainer says more"

    def welcome(self, **fields):
        self.say("welcome", **{"version": 1, "node": "n0", "algorithm": "dpsgd", "precision": "f32",
                               "local_steps": 2, "learning_rate": 0.1, "batch_size": 8, "seed": 1,
                               **fields})

    def step(self, count=1, place=0, nodes=1, **fields):
        self.job += 1
        self.say("step", job=self.job, **{"count": count, "round": self.job, "learning_rate": 0.1,
                                          "corrects": False, "tracks": False, "place": place, "nodes": nodes,
                                          **fields})

    def save(self):
        """Has the trainer save its state: the record, and the descriptor of the file or None."""
        self.job += 1
        self.say("save", job=self.job)
        data, descriptors, _, _ = socket.recv_fds(self.connection, 65536, 1)
        record = json.loads(data)
        assert record["kind"] == "done" and record["job"] == self.job, record
        return record, descriptors[0] if descriptors else None

    def load(self, descriptor, own=True):
        """Has the trainer load a state; the record of its answer."""
        self.job += 1
        record = {"kind": "load", "job": self.job, "bytes": os.fstat(descriptor).st_size, "own": own}
        socket.send_fds(self.connection, [json.dumps(record).encode()], [descriptor])
        return self.done()

    def done(self):
        record = self.hear("done")
        assert record["job"] == self.job, record
        return record

    def end(self, reason="enough rounds", model=False):
        self.say("end", reason=reason, model=model)
        self.kill()

    def kill(self):
        """Closes without a word, as a daemon that is killed does."""
        self.connection.close()

    def _check_layout(self):
        taken = [(0, 64)]
        for name in ("table", "values", "correction", "gradient", "batch"):
            if name in self.hello:
                place = self.hello[name]
                assert place["offset"] % 64 == 0, name
                taken.append((place["offset"], place["offset"] + place["bytes"]))
        taken.sort()
        assert all(one[1] <= other[0] for one, other in zip(taken, taken[1:])), taken
        assert taken[-1][1] <= self.hello["segment"]
        end = 0
        for row in self.rows:
            assert row["offset"] % 64 == 0 and row["offset"] >= end, row
            end = row["offset"] + count_of(row) * NUMBER_BYTES[row["dtype"]]
        assert end <= self.hello["values"]["bytes"]


class FakeDaemon:
    """Listens on a socket in a folder of its own."""

    def __init__(self, path=None):
        self._folder = None if path else tempfile.TemporaryDirectory()
        self.path = path or str(Path(self._folder.name) / "trainer.sock")
        self._listener = None
        self._trainers = []
        self._thread = None
        self._failure = None
        self.listen()

    def listen(self):
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.settimeout(DEADLINE_S)
        self._listener.bind(self.path)
        self._listener.listen(4)

    def stop_listening(self):
        """As a daemon that is killed; its socket stays in the folder or not."""
        self._listener.close()
        os.unlink(self.path)

    def accept(self):
        self._trainers.append(Trainer(self.accept_raw()))
        return self._trainers[-1]

    def accept_raw(self):
        """The socket of a client that need not say hello; the caller closes it."""
        return self._listener.accept()[0]

    def run(self, script):
        """Starts the script in a thread."""
        def body():
            try:
                script(self)
            except BaseException as error:  # what it is, finish() tells
                self._failure = error
                self._listener.close()
                for trainer in self._trainers:
                    trainer.kill()
        self._thread = threading.Thread(target=body, daemon=True)
        self._thread.start()

    def finish(self):
        """Waits for the script and raises what it raised."""
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive(), "the script waits for the trainer"
        if self._failure is not None:
            raise self._failure

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        try:
            if self._failure is not None:
                raise self._failure
            if self._thread is not None and kind is None:
                self.finish()
        finally:
            self._listener.close()
            for trainer in self._trainers:
                trainer.kill()
            if self._folder is not None:
                self._folder.cleanup()


def count_of(row):
    count = 1
    for size in row["shape"]:
        count *= size
    return count
