#!/usr/bin/env python3
"""Trains real processes behind real NATs, and measures how they meet and recover.

    tests/acceptance/nat.py [CASE ...]

Each node lies in a network namespace, and has a ticket. Several hidden nodes share a LAN behind a
NAT, which masquerades by nftables and lets no connection in. Those of even number were told by
listen.advertise = none; the others find out that nobody can dial them. Cases:

  most     12 of 16 nodes behind four NATs
  one      15 of 16 behind three NATs; the one that can be dialled is killed, and starts again
  relay    the same, and it is a relay without data
  reboot   12 of 16; a NAT forgets all connections, and drops what belongs to none without a word
  all      the same of all three NATs of 15 of 16 at once
  hidden   12 of 16; a hidden node is killed, and starts again
  idle     12 of 16 at preset wan; NATs forget a connection that is silent for 30 s, and training
           pauses for 80 s

All train an exact algorithm, and have to reach the optimum. Needs root, iproute2, nftables and
util-linux, else it is skipped. STARLING in the environment names the program when it is not
build/release/daemon/starling.
"""
import http.client
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time

from fleet import PROGRAM, ROOT, asking, elapsed, failures, parameters, report, wait
from normal_equations import optimum

sys.path.insert(0, os.path.join(ROOT, "bench"))
import network as networks  # noqa: E402

NODES = 16
MEET_S, HEAL_S, REACH_S = 30, 10, 60
HTTP = ("127.0.0.1", 7680)
MOST_OFF = 1e-8  # from the optimum
FORGET_S, PAUSE_S = 30, 80
KEYS = ["--data.source=reference", f"--data.reference.n={NODES}", "--data.reference.d=8",
        "--data.reference.m=15", "--data.reference.h=1.5", "--data.reference.noise=0.2",
        "--data.reference.seed=1000", "--model.kind=linear", "--model.precision=f64",
        "--optim.algorithm=ed", "--optim.learning-rate=0.05", "--optim.batch-size=0",
        "--topology.kind=random-regular", "--node.log=info"]
NAT = """
table ip nat {
  chain outgoing {
    type nat hook postrouting priority srcnat
    oifname "eth0" masquerade
  }
}
table inet filter {
  chain forward {
    type filter hook forward priority 0
    policy drop
    ct state invalid drop
    ct state established,related accept
    iifname "lan" ct state new accept
  }
}
"""


class Nats(networks.Network):
    """`open_nodes` nodes and `nats` NATs on one network; a LAN of `each` nodes behind each NAT."""

    def __init__(self, open_nodes, nats, each, forget_s=0):
        super().__init__(open_nodes + nats)
        self.open_nodes, self.nats, self.each = open_nodes, nats, each
        self.count = open_nodes + nats * each
        for nat in range(nats):
            self._open_lan(nat, forget_s)
            for member in range(each):
                self._plug_in(nat, member)

    def _router(self, nat):
        return self.path(self.open_nodes + nat)

    def _in_router(self, nat, *words, text=None):
        return networks.run("nsenter", f"--net={self._router(nat)}", *words, text=text)

    def _open_lan(self, nat, forget_s):
        settings = ["net.ipv4.ip_forward=1", "net.netfilter.nf_conntrack_tcp_loose=0"]
        if forget_s:
            settings.append(f"net.netfilter.nf_conntrack_tcp_timeout_established={forget_s}")
        self._in_router(nat, "nft", "-f", "-", text=NAT)
        self._in_router(nat, "sysctl", "-w", *settings)
        self._in_router(nat, "ip", "link", "add", "lan", "type", "bridge")
        self._in_router(nat, "ip", "addr", "add", f"192.168.{nat}.1/24", "dev", "lan")
        self._in_router(nat, "ip", "link", "set", "lan", "up")

    def _plug_in(self, nat, member):
        name, router = f"hidden-{nat}-{member}", f"node-{self.open_nodes + nat}"
        networks.run("ip", "netns", "add", name)
        networks.run("ip", "link", "add", f"port{member}", "netns", router, "type", "veth",
                     "peer", "name", "eth0", "netns", name)
        networks.run("ip", "-n", router, "link", "set", f"port{member}", "master", "lan", "up")
        networks.run("ip", "-n", name, "addr", "add", f"192.168.{nat}.{member + 10}/24",
                     "dev", "eth0")
        for link in "eth0", "lo":
            networks.run("ip", "-n", name, "link", "set", link, "up")
        networks.run("ip", "-n", name, "route", "add", "default", "via", f"192.168.{nat}.1")

    def __exit__(self, *rest):
        for k in range(self.open_nodes, self.count):
            networks.run("ip", "netns", "del", os.path.basename(self.place(k)))
        super().__exit__(*rest)

    def place(self, k):
        """The path of node k's namespace."""
        if k < self.open_nodes:
            return self.path(k)
        nat, member = divmod(k - self.open_nodes, self.each)
        return f"/run/netns/hidden-{nat}-{member}"

    def behind(self, nat):
        first = self.open_nodes + nat * self.each
        return range(first, first + self.each)

    def reboot(self, nat):
        """Masquerading forgets the connections of an interface that goes down."""
        self._in_router(nat, "ip", "link", "set", "eth0", "down")
        self._in_router(nat, "ip", "link", "set", "eth0", "up")


class Fleet:
    """One `starling run` a namespace, with tickets."""

    def __init__(self, network, arguments=(), has_relay=False):
        self.network, self.arguments = network, list(arguments)
        self.trainers = range(1 if has_relay else 0, NODES)  # those with data
        self.folder = tempfile.TemporaryDirectory(prefix="starling-nat-")
        self.processes, self.events = {}, {}
        key = self.path("cluster.key")
        self.type("keygen", "cluster", "--out", key)
        for k in range(network.count):
            joins = [f"--join={network.address(o)}:7600" for o in range(network.open_nodes)]
            self.type("invite", f"node-{k}", "--cluster-key", key, "--ticket-file",
                      self.path(f"{k}.ticket"), *joins)

    def __enter__(self):
        for k in range(self.network.count):
            self.start(k)
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    @staticmethod
    def type(*words):
        networks.run(PROGRAM, *words)

    def start(self, k):
        place = []
        if k < self.network.open_nodes:
            place = [f"--listen.control={self.network.address(k)}:7600"]
        elif k % 2 == 0:
            place = ["--listen.control=127.0.0.1:7600", "--listen.advertise=none"]
        place.append(f"--cluster.expect={len(self.trainers)}")
        if k not in self.trainers:
            place.append("--node.role=relay")
        with open(self.path(f"{k}.log"), "ab") as log:
            self.processes[k] = subprocess.Popen(
                ["nsenter", f"--net={self.network.place(k)}", PROGRAM, "run",
                 "--ticket-file", self.path(f"{k}.ticket"),
                 f"--node.data-dir={self.path(f'node-{k}')}", f"--data.shard={k}/{NODES}",
                 *KEYS, *place, *self.arguments], stderr=log, cwd=ROOT)
        self.events[k] = 0

    def kill(self, k):
        self.processes[k].send_signal(signal.SIGKILL)
        self.processes[k].wait()

    def ask(self, k, resource, method="GET"):
        """The bytes, or None when it does not answer."""
        try:
            connection = http.client.HTTPConnection(*HTTP, timeout=5)
            connection.sock = networks.connect(self.network.place(k), HTTP)
            connection.request(method, resource)
            reply = connection.getresponse()
            data = reply.read() if reply.status < 300 else None
            connection.close()
            return data
        except (OSError, http.client.HTTPException):
            return None

    def all(self, resource, nodes=None, method="GET"):
        nodes = range(self.network.count) if nodes is None else nodes
        return list(asking.map(lambda k: self.ask(k, resource, method), nodes))

    def documents(self, resource, nodes=None):
        return [json.loads(data or "{}") for data in self.all(resource, nodes)]

    def rounds(self, nodes=None):
        return [d.get("run", {}).get("round", 0) for d in self.documents("/v1/status", nodes)]

    def know_all(self, nodes=None):
        """Whether each of these nodes sees all alive."""
        statuses = self.documents("/v1/status", nodes)
        return all(d.get("members", {}).get("alive") == NODES for d in statuses)

    def know_hidden(self):
        """Whether each node knows of all others whether somebody can dial them."""
        names = {f"node-{k}" for k in range(self.network.open_nodes, NODES)}
        return all({m["name"] for m in d.get("members", []) if m.get("hidden")} == names
                   for d in self.documents("/v1/members"))

    def deaths(self):
        """Events of this kind since the last call."""
        found = []
        for k in range(self.network.count):
            document = json.loads(
                self.ask(k, f"/v1/events?follow=0&since={self.events[k]}") or "{}")
            events = document.get("events", [])
            self.events[k] = events[-1]["sequence"] if events else self.events[k]
            found += [f"node-{k}: {e['text']}" for e in events if e["kind"] == "died"]
        return found

    def advance(self, by=10, nodes=None):
        """A claim: all have done that many rounds more than now."""
        before = self.rounds(nodes)
        return lambda: all(now >= then + by for now, then in zip(self.rounds(nodes), before))

    def links(self):
        """Of each node the numbers of open and of wanted edges."""
        return [(sum(e["state"] == "active" for e in d.get("neighbors", [])),
                 len(d.get("neighbors", []))) for d in self.documents("/v1/neighbors")]

    def farthest(self):
        """From the optimum of those with data."""
        goal = optimum(self.trainers)
        models = [parameters(data) for data in self.all("/v1/model", self.trainers)]
        return max(math.inf if len(x) != len(goal) else math.dist(x, goal) for x in models)


def begin(name, fleet):
    """All meet, train, and reach the optimum."""
    time.sleep(1)
    if ended := [k for k, process in fleet.processes.items() if process.poll() is not None]:
        with open(fleet.path(f"{ended[0]}.log")) as log:
            raise SystemExit(f"node-{ended[0]} ended: {log.read()}")
    met = wait(fleet.know_all, MEET_S)
    report(f"{name}: all know all {NODES}", elapsed(met), met is not None)
    found = wait(fleet.know_hidden, MEET_S)
    report(f"{name}: all know who is hidden", elapsed(found), found is not None)
    trains = wait(lambda: min(fleet.rounds()) > 10, REACH_S)
    report(f"{name}: all train", elapsed(trains), trains is not None)
    arrive(name, fleet)
    fleet.deaths()


def arrive(name, fleet):
    arrived = wait(lambda: fleet.farthest() <= MOST_OFF, REACH_S, 0.2)
    report(f"{name}: all at the optimum", f"{elapsed(arrived)}, {fleet.farthest():.1e} off",
           arrived is not None)


def check_most():
    with Nats(4, 4, 3) as network, Fleet(network) as fleet:
        begin("most", fleet)
        time.sleep(5)
        deaths = fleet.deaths()
        report("most: false deaths", f"{len(deaths)} {deaths[:3]}", not deaths)


def check_one(name="one", **how):
    with Nats(1, 3, 5) as network, Fleet(network, **how) as fleet:
        begin(name, fleet)
        fleet.kill(0)
        time.sleep(12)
        fleet.start(0)
        trains = fleet.advance(10, range(1, NODES))
        heal = wait(lambda: fleet.know_all() and min(fleet.rounds([0])) > 0 and trains(), 60)
        report(f"{name}: away for 12 s, all know all and train after", elapsed(heal),
               heal is not None and heal <= HEAL_S)
        arrive(f"{name}, after that", fleet)


def check_relay():
    check_one("relay", has_relay=True)


def reboot(name, shape, nats):
    with Nats(*shape) as network, Fleet(network) as fleet:
        begin(name, fleet)
        for nat in nats:
            network.reboot(nat)
        before = time.monotonic()
        trains = fleet.advance(100)
        heal = wait(lambda: fleet.know_all() and trains(), 60)
        report(f"{name}: NATs start again, all know all and train after", elapsed(heal),
               heal is not None and heal <= HEAL_S)
        linked = wait(lambda: all(a == b for a, b in fleet.links()), 60)
        linked = None if linked is None else time.monotonic() - before
        report(f"{name}: all edges are open after", elapsed(linked),
               linked is not None and linked <= HEAL_S)
        deaths = fleet.deaths()
        report(f"{name}: deaths told", f"{len(deaths)} {deaths[:3]}", not deaths)
        arrive(f"{name}, after that", fleet)


def check_reboot():
    reboot("reboot", (4, 4, 3), [0])


def check_all():
    reboot("all", (1, 3, 5), range(3))


def check_hidden():
    with Nats(4, 4, 3) as network, Fleet(network) as fleet:
        begin("hidden", fleet)
        victim = NODES - 1
        others = range(victim)
        fleet.kill(victim)
        dead = wait(lambda: not any(m["name"] == f"node-{victim}" and m["state"] != "dead"
                                    for d in fleet.documents("/v1/members", others)
                                    for m in d.get("members", [])), 60)
        report("hidden: kill -9 of a hidden node is known to all after", elapsed(dead),
               dead is not None and dead <= HEAL_S)
        fleet.start(victim)
        trains = fleet.advance(10, others)
        heal = wait(lambda: fleet.know_all() and min(fleet.rounds([victim])) > 0 and trains(), 60)
        report("hidden: started again, all know all and train after", elapsed(heal),
               heal is not None and heal <= HEAL_S)
        arrive("hidden, after that", fleet)


def check_idle():
    with Nats(4, 4, 3, FORGET_S) as network, Fleet(network, ["--cluster.preset=wan"]) as fleet:
        begin("idle", fleet)
        fleet.all("/v1/pause", method="POST")
        time.sleep(PAUSE_S)
        deaths = fleet.deaths()
        report(f"idle for {PAUSE_S} s: deaths", f"{len(deaths)} {deaths[:3]}", not deaths)
        trains = fleet.advance(10)
        fleet.all("/v1/resume", method="POST")
        heal = wait(trains, 60)
        report(f"idle for {PAUSE_S} s: all train after", elapsed(heal),
               heal is not None and heal <= HEAL_S)
        arrive("idle, after that", fleet)


CHECKS = {"most": check_most, "one": check_one, "relay": check_relay,
          "reboot": check_reboot, "all": check_all, "hidden": check_hidden, "idle": check_idle}


def main():
    if reason := networks.why_not():
        print(f"SKIPPED: {reason}")
        return 0
    if not networks.is_inside():
        return networks.run_inside()
    for name in sys.argv[1:] or CHECKS:
        CHECKS[name]()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
