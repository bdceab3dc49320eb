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
the newest below build/.
"""
import math
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from nodes import fleet as fleets, namespaces as networks  # noqa: E402
from nodes.keys import cluster_key, ticket  # noqa: E402
from nodes.namespaces import Place  # noqa: E402
from nodes.watch import asking, elapsed, failures, report, wait  # noqa: E402
from normal_equations import KEYS as PROBLEM, optimum  # noqa: E402

NODES = 16
MEET_S, HEAL_S, REACH_S = 30, 10, 60
MOST_OFF = 1e-8  # from the optimum
FORGET_S, PAUSE_S = 30, 80
KEYS = [*PROBLEM, f"--data.reference.n={NODES}", "--model.kind=linear", "--model.precision=f64",
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
            networks.run("ip", "netns", "del", os.path.basename(self.path_of(k)))
        super().__exit__(*rest)

    def path_of(self, k):
        """The path of node k's namespace."""
        if k < self.open_nodes:
            return self.path(k)
        nat, member = divmod(k - self.open_nodes, self.each)
        return f"/run/netns/hidden-{nat}-{member}"

    def place(self, k):
        """Who is hidden and was told so listens to itself alone."""
        host = self.address(k) if k < self.open_nodes else "127.0.0.1" if k % 2 == 0 else "0.0.0.0"
        path = self.path_of(k)
        return Place(host, networks.CONTROL_PORT, ("nsenter", f"--net={path}"), path)

    def reboot(self, nat):
        """Masquerading forgets the connections of an interface that goes down."""
        self._in_router(nat, "ip", "link", "set", "eth0", "down")
        self._in_router(nat, "ip", "link", "set", "eth0", "up")


class Fleet(fleets.Fleet):
    """A node a namespace, with tickets."""

    def __init__(self, network, arguments=(), has_relay=False):
        self.trainers = range(1 if has_relay else 0, NODES)  # those with data
        super().__init__(range(network.count), arguments, network, keeps=True)

    def make(self, k, more):
        joins = [f"{self.network.address(o)}:{networks.CONTROL_PORT}" for o in range(self.network.open_nodes)]
        path = ticket(cluster_key(self.folder), f"node-{k}", f"{self.path(k)}.ticket", joins)
        hidden = ["--listen.advertise=none"] if k >= self.network.open_nodes and k % 2 == 0 else []
        relay = [] if k in self.trainers else ["--node.role=relay"]
        return super().make(k, [f"--ticket-file={path}", f"--data.shard={k}/{NODES}", *KEYS, *hidden, *relay,
                                f"--cluster.expect={len(self.trainers)}", *more])

    def seeds(self):
        return []  # its ticket has them

    def restart(self, node):
        node.start()
        return node.await_ready()

    def know_all(self):
        """Whether each node sees all alive."""
        return all(asking.map(lambda node: node.alive() == NODES, self.nodes))

    def know_hidden(self):
        """Whether each node knows of all others whether somebody can dial them."""
        names = {f"node-{k}" for k in range(self.network.open_nodes, NODES)}
        return all({m["name"] for m in d.get("members", []) if m.get("hidden")} == names
                   for d in self.all("/v1/members"))

    def told(self):
        """Of deaths, since the last call."""
        return [f"{node.name}: {text}" for node in self.nodes for text in node.died()]

    def command(self, word):
        list(asking.map(lambda node: node.post(f"/v1/{word}"), self.nodes))

    def advance(self, by=10, nodes=None):
        """A claim: all have done that many rounds more than now."""
        before = self.rounds(nodes)
        return lambda: all(now >= then + by for now, then in zip(self.rounds(nodes), before))

    def links(self):
        """Of each node the numbers of open and of wanted edges."""
        return [(sum(e["state"] == "active" for e in d.get("neighbors", [])),
                 len(d.get("neighbors", []))) for d in self.all("/v1/neighbors")]

    def farthest(self):
        """From the optimum of those with data."""
        goal = optimum(self.trainers)
        models = [struct.unpack(f"<{len(data) // 8}d", data)
                  for data in asking.map(lambda k: self.nodes[k].model(), self.trainers)]
        return max(math.inf if len(x) != len(goal) else math.dist(x, goal) for x in models)


def begin(name, fleet):
    """All meet, train, and reach the optimum."""
    met = fleet.wait(fleet.know_all, MEET_S)
    report(f"{name}: all know all {NODES}", elapsed(met), met is not None)
    found = wait(fleet.know_hidden, MEET_S)
    report(f"{name}: all know who is hidden", elapsed(found), found is not None)
    trains = wait(lambda: min(fleet.rounds()) > 10, REACH_S)
    report(f"{name}: all train", elapsed(trains), trains is not None)
    arrive(name, fleet)
    fleet.told()


def arrive(name, fleet):
    arrived = wait(lambda: fleet.farthest() <= MOST_OFF, REACH_S, 0.2)
    report(f"{name}: all at the optimum", f"{elapsed(arrived)}, {fleet.farthest():.1e} off",
           arrived is not None)


def check_most():
    with Nats(4, 4, 3) as network, Fleet(network) as fleet:
        begin("most", fleet)
        time.sleep(5)
        deaths = fleet.told()
        report("most: false deaths", f"{len(deaths)} {deaths[:3]}", not deaths)


def check_one(name="one", **how):
    with Nats(1, 3, 5) as network, Fleet(network, **how) as fleet:
        begin(name, fleet)
        first = fleet.nodes[0]
        first.kill()
        time.sleep(12)
        fleet.restart(first)
        trains = fleet.advance(10, fleet.but(first))
        heal = wait(lambda: fleet.know_all() and first.round() > 0 and trains(), 60)
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
        deaths = fleet.told()
        report(f"{name}: deaths told", f"{len(deaths)} {deaths[:3]}", not deaths)
        arrive(f"{name}, after that", fleet)


def check_reboot():
    reboot("reboot", (4, 4, 3), [0])


def check_all():
    reboot("all", (1, 3, 5), range(3))


def check_hidden():
    with Nats(4, 4, 3) as network, Fleet(network) as fleet:
        begin("hidden", fleet)
        victim = fleet.nodes[-1]
        others = fleet.but(victim)
        victim.kill()
        dead = wait(lambda: all(node.members().get(victim.name, {"state": "dead"})["state"] == "dead"
                                for node in others), 60)
        report("hidden: kill -9 of a hidden node is known to all after", elapsed(dead),
               dead is not None and dead <= HEAL_S)
        fleet.restart(victim)
        trains = fleet.advance(10, others)
        heal = wait(lambda: fleet.know_all() and victim.round() > 0 and trains(), 60)
        report("hidden: started again, all know all and train after", elapsed(heal),
               heal is not None and heal <= HEAL_S)
        arrive("hidden, after that", fleet)


def check_idle():
    with Nats(4, 4, 3, FORGET_S) as network, Fleet(network, ["--cluster.preset=wan"]) as fleet:
        begin("idle", fleet)
        fleet.command("pause")
        time.sleep(PAUSE_S)
        deaths = fleet.told()
        report(f"idle for {PAUSE_S} s: deaths", f"{len(deaths)} {deaths[:3]}", not deaths)
        trains = fleet.advance(10)
        fleet.command("resume")
        heal = wait(trains, 60)
        report(f"idle for {PAUSE_S} s: all train after", elapsed(heal),
               heal is not None and heal <= HEAL_S)
        arrive("idle, after that", fleet)


CHECKS = {"most": check_most, "one": check_one, "relay": check_relay,
          "reboot": check_reboot, "all": check_all, "hidden": check_hidden, "idle": check_idle}


def main():
    if not networks.is_inside():
        return networks.run_inside_or_skip()
    for name in sys.argv[1:] or CHECKS:
        CHECKS[name]()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
