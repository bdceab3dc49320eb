#!/usr/bin/env python3
"""No output of real nodes holds a secret: of the cluster, of a node, of a ticket, of the REST interface.

    secrets_test.py STARLING

Three nodes train: one with its keys in its folder, one with a ticket among its arguments, one with a
ticket in a file. All that they print, serve and keep, all that the commands print about them, and
what the system shows of their processes is searched for every secret in every form that a slip would
give it. The pages of memory that hold a secret key have to be left out of core dumps.
"""
import base64
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from nodes import program  # noqa: E402
from nodes.node import Node  # noqa: E402
from nodes.watch import eventually  # noqa: E402

program.use(sys.argv[1])
TOKEN = "a token of the test, 0123456789"
SMALL = ["--data.samples=500", "--model.kind=softmax", "--cluster.preset=local",
         "--stop.rounds=1000000000", "--node.log=debug"]
# They end a node, hold it up, or print a secret because that is what they are for.
NOT_ASKED = ("run", "up", "stop", "leave", "pause", "invite")


def run(*arguments, folder, expect=0):
    ended = subprocess.run([program.program(), *arguments], cwd=folder, capture_output=True, timeout=120)
    assert expect is None or ended.returncode == expect, f"{arguments}: {ended.stderr.decode()}"
    return ended.stdout + ended.stderr


def in_line(path):
    """The bytes of a line of a file, without its checksum."""
    text = path.read_text().strip().rsplit(":", 1)[1]
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))[:-8]


def z85(secret):
    alphabet = ("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                ".-:+=^!/*?&<>()[]{}@%$#")
    words = (int.from_bytes(secret[at:at + 4], "big") for at in range(0, len(secret), 4))
    return "".join(alphabet[word // 85**k % 85] for word in words for k in (4, 3, 2, 1, 0))


def forms_of(seed):
    """A secret key and the X25519 half that follows from it, raw and as text."""
    hashed = bytearray(hashlib.sha512(seed).digest()[:32])
    hashed[0], hashed[31] = hashed[0] & 248, hashed[31] & 127 | 64
    forms = set()
    for secret in (seed, bytes(hashed)):
        forms |= {secret, secret.hex().encode(), secret.hex().upper().encode(), z85(secret).encode()}
        # Wherever it begins in a group of three bytes; the characters at its ends hold other bits.
        for before in range(3):
            text = base64.b64encode(b"\0" * before + secret)[4:40]
            forms |= {text, text.replace(b"+", b"-").replace(b"/", b"_")}
    return forms


class Guarded(Node):
    """Told the token by its settings, and asked with it."""

    def __init__(self, name, folder, *arguments):
        super().__init__(name, *SMALL, f"--http.token-file={folder}/token", *arguments, log=f"{folder}/{name}.log")
        self.await_ready()

    def answer(self, resource, method="GET", token=True):
        """Its head and its body."""
        headers = {"Authorization": f"Bearer {TOKEN}"} if token else {}
        answer = self.fetch(resource, method.upper(), **headers)
        return str(answer.headers).encode() + answer.data


def start_all(folder):
    (folder / "token").write_text(TOKEN + "\n")
    (folder / "token").chmod(0o600)
    run("keygen", "cluster", folder=folder)
    run("keygen", "node", "--name", "kept", "--out", "kept", folder=folder)
    first = Guarded("kept", folder, f"--node.data-dir={folder}/kept")
    seed = f"{first.addresses['control']}#{first.addresses['key']}"
    nodes, seeds = [first], [in_line(folder / "cluster.key"), in_line(folder / "kept" / "key")]
    for name, option in (("told", "--join"), ("filed", "--ticket-file")):
        ticket = folder / f"{name}.ticket"
        run("invite", name, "--join", seed, "--ticket-file", ticket, folder=folder)
        seeds.append(in_line(ticket)[1:33])
        value = ticket.read_text() if option == "--join" else ticket
        nodes.append(Guarded(name, folder, option, value, f"--node.data-dir={folder}/{name}"))
    assert all(len(seed) == 32 for seed in seeds)
    return nodes, seeds


def outputs(nodes, folder):
    """(what, bytes) of everything that somebody may see."""
    commands = [line.split("\t")[0] for line in run("complete", "", folder=folder).decode().splitlines()[1:]]
    assert len(commands) > 20, commands
    for node in nodes:
        yield "the ready file", json.dumps(node.addresses).encode()
        for path, methods in node.get("/openapi.json")["paths"].items():
            for method in methods:
                if path not in ("/v1/leave", "/v1/pause", "/v1/stop"):
                    for token in (True, False):
                        resource = path + ("?follow=0" if path == "/v1/events" else "")
                        yield f"{method} {path}", node.answer(resource, method, token)
        for command in commands:
            if command in NOT_ASKED:
                continue
            for more in ([], ["--json"]):
                asked = [command, *more, "--api", node.url, "--token-file", f"{folder}/token"]
                yield f"starling {command}", run(*asked, folder=folder, expect=None)
        for what in ("cmdline", "environ"):
            yield f"{what} of {node.name}", node.of_system(what)
        for format in ("csv", "jsonl", "tensorboard"):
            run("export", "--api", node.url, "--token-file", "token", "--format", format, "--output",
                f"out-{format}", folder=folder, expect=None)
    for path in [*folder.glob("*.ticket"), folder / "cluster.key", *folder.glob("*/key"),
                 *folder.glob("*/certificate")]:
        for more in ([], ["--json"]):
            yield f"keygen show {path}", run("keygen", "show", path, *more, folder=folder)
    options = ["--ticket-file", "filed.ticket", "--node.name=other"]
    yield "an error of run", run("run", *options, folder=folder, expect=2)
    ticket = (folder / "told.ticket").read_text()
    for arguments in (["run", "--joint", ticket], ["run", f"--cluster.join={ticket}"], [ticket],
                      ["config", f"--node.name={ticket}"], ["run", "--join", ticket[:-9]]):
        yield f"starling {arguments[0][:9]}", run(*arguments, folder=folder, expect=None)


def files(folder):
    """What lies on the disk, but for the files that are secret."""
    for path in folder.rglob("*"):
        secret = path.name in ("key", "cluster.key", "token") or path.suffix == ".ticket"
        if secret:
            assert path.stat().st_mode & 0o077 == 0, f"others can read {path}"
        elif path.is_file():
            yield str(path), path.read_bytes()


def look(what, seen, forms):
    for form in forms:
        assert form not in seen, f"{what} holds a secret: {form!r}"


def pages_with(node, secret):
    """The flags of each mapping of a process that holds these bytes."""
    mappings, found = node.of_system("smaps").decode(errors="replace").splitlines(), []
    with open(f"/proc/{node.process.pid}/mem", "rb", 0) as memory:
        for line in mappings:
            words = line.split()
            if "-" in words[0] and ":" not in words[0]:
                begin, end = (int(at, 16) for at in words[0].split("-"))
                readable = words[1].startswith("r") and not line.endswith(("[vvar]", "[vsyscall]"))
                holds = False
                if readable:
                    memory.seek(begin)
                    try:
                        holds = secret in memory.read(end - begin)
                    except OSError:
                        continue
            elif words[0] == "VmFlags:" and holds:
                found.append(words[1:])
    return found


def check_memory(nodes, seeds):
    """The nodes' own keys, and not that of the cluster, are in memory, in pages of their own."""
    for node, seed in zip(nodes, seeds[1:]):
        for found in pages_with(node, seed):
            assert "dd" in found, f"{node.name}: a core dump would hold its key: {found}"
        assert pages_with(node, seed), f"{node.name} has no key"
        assert not pages_with(node, seeds[0]), f"{node.name} has the key of the cluster"
        with open(f"/proc/{node.process.pid}/coredump_filter") as dumped:  # libzmq's copies
            assert int(dumped.read(), 16) == 0, f"{node.name}: a core dump would hold memory"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nodes, seeds = start_all(folder)
        forms = {TOKEN.encode()}.union(*(forms_of(seed) for seed in seeds))
        try:
            def met():
                counts = [node.answer("/v1/members").count(b'"alive"') for node in nodes]
                return counts == [3, 3, 3]
            eventually(met, "all meet")
            count = 0
            for what, seen in outputs(nodes, folder):
                look(what, seen, forms)
                count += 1
            assert count > 100, count
            check_memory(nodes, seeds)
        finally:
            codes = [node.stop() for node in reversed(nodes)]
        assert codes == [0, 0, 0], codes
        kept = list(files(folder))
        assert any(path.endswith("certificate") for path, _ in kept)
        for what, seen in kept:
            look(what, seen, forms)
        print(f"{count} outputs and {len(kept)} files, {len(forms)} forms of secrets: none is in any")


main()
