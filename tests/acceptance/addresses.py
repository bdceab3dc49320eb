#!/usr/bin/env python3
"""Nodes that know nothing but a name, in network namespaces with a name server of their own.

    tests/acceptance/addresses.py

Every node listens on all addresses and joins `dns:starling:7600`, as pods of a headless service do:
names that appear late, SRV records, published ports, a network of IPv6 alone, a node that comes back at another
address, one whose host name moves, and nodes whose host names only they themselves know. Needs root, iproute2,
nftables and util-linux, else it is skipped. STARLING in the environment names the program when it is not the newest below build/.
"""
import ipaddress
import os
import socketserver
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from nodes import namespaces as networks  # noqa: E402
from nodes.node import Node  # noqa: E402
from nodes.program import program  # noqa: E402
from nodes.watch import DEADLINE_S, failures, report, wait  # noqa: E402

NODES = 4
A, AAAA, SRV = 1, 28, 33
NO_SUCH_NAME = 3
SERVERS = ("10.78.0.254", "fd78::254")
RESOLVER = "".join(f"nameserver {at}\n" for at in SERVERS) + "search pods.test\noptions ndots:5\n"
KEYS = ["--data.source=reference", "--stop.rounds=100000000", "--topology.kind=complete",
        "--cluster.preset=local", "--security.insecure=true"]


def encoded(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


class Names:
    """What the name server knows: (name, type) -> list of data."""

    def __init__(self):
        self.records, self.lock = {}, threading.Lock()

    def set_addresses(self, name, addresses):
        with self.lock:
            for kind in (A, AAAA):
                self.records[name, kind] = [
                    ipaddress.ip_address(at).packed for at in addresses
                    if (ipaddress.ip_address(at).version == 4) == (kind == A)]

    def set_service(self, name, hosts, port):
        with self.lock:
            self.records[name, SRV] = [struct.pack(">HHH", 1, 1, port) + encoded(host)
                                       for host in hosts]

    def clear(self):
        with self.lock:
            self.records = {}

    def answer(self, query):
        place, labels = 12, []
        while query[place]:
            labels.append(query[place + 1:place + 1 + query[place]].decode().lower())
            place += 1 + query[place]
        kind = struct.unpack(">H", query[place + 1:place + 3])[0]
        name, question = ".".join(labels), query[12:place + 5]
        with self.lock:
            is_known = any(known == name for known, _ in self.records)
            data = self.records.get((name, kind), [])
        flags = 0x8180 | (0 if is_known else NO_SUCH_NAME)
        head = query[:2] + struct.pack(">HHHHH", flags, 1, len(data), 0, 0)
        return head + question + b"".join(
            b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(item)) + item for item in data)


def serve(names):
    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            query, socket = self.request
            socket.sendto(names.answer(query), self.client_address)

    for at in SERVERS:
        family = socketserver.socket.AF_INET6 if ":" in at else socketserver.socket.AF_INET
        server = type("Server", (socketserver.ThreadingUDPServer,), {"address_family": family})
        threading.Thread(target=server((at, 53), Handler).serve_forever, daemon=True).start()


class Pods:
    def __init__(self, network, folder):
        self.network, self.folder = network, folder
        self.nodes, self.logs = {}, 0

    def start(self, k, *keys, listen="0.0.0.0", hosts=""):
        """`hosts`: what /etc/hosts of this node alone says beside localhost."""
        self.logs += 1
        log, command = os.path.join(self.folder, f"{self.logs}.log"), (program(), "run")
        if hosts:
            path = f"{log}.hosts"
            with open(path, "w") as stream:
                stream.write(f"127.0.0.1 localhost\n{hosts}\n")
            command = ("unshare", "--mount", "sh", "-c", f'mount --bind {path} /etc/hosts && exec "$@"', "sh", *command)
        self.nodes[k] = Node(f"node-{k}", *KEYS, f"--listen.control={listen}:7600", *keys, log=log, command=command,
                             place=self.network.place(k)).await_ready()

    def kill(self, k):
        self.nodes.pop(k).kill()

    def alive(self, k):
        return {name: member.get("control") for name, member in self.nodes[k].members().items()
                if member["state"] == "alive"}

    def trains(self, k):
        before = self.nodes[k].round()
        return eventually(lambda: self.nodes[k].round() > before + 5)

    def end(self):
        codes = [node.stop(30) for node in self.nodes.values()]
        self.nodes = {}
        return codes


def eventually(claim):
    return wait(claim, DEADLINE_S, 0.1) is not None


def all_meet(pods, nodes):
    began = time.monotonic()
    met = eventually(lambda: all(len(pods.alive(k)) == nodes for k in pods.nodes))
    return met and all(pods.trains(k) for k in pods.nodes), time.monotonic() - began


PUBLISHED = """
table ip nat {
  chain incoming {
    type nat hook prerouting priority dstnat
    tcp dport 10000 redirect to :7600
  }
}
table inet filter {
  chain input {
    type filter hook input priority 0
    iifname "eth0" tcp dport 7600 ct original proto-dst 7600 drop
  }
}
"""


def check_published(pods, names):
    """As behind docker -p 10000:7600: port 7600 of a node is closed, and 10000 leads there."""
    at = [f"{pods.network.address(k)}:10000" for k in range(2)]
    for k in range(2):
        networks.run(*pods.network.prefix(k), "nft", "-f", "-", text=PUBLISHED)
        pods.start(k, f"--listen.advertise={at[k]}", f"--join={at[1 - k]}")
    good, time_s = all_meet(pods, 2)
    found = sorted(pods.alive(0).values())
    report("ports that differ inside and outside", f"{', '.join(found)} in {time_s:.1f} s",
           good and found == at)
    codes = pods.end()
    report("leaving", f"exit codes {codes}", codes == [0, 0])
    for k in range(2):
        networks.run(*pods.network.prefix(k), "nft", "flush", "ruleset")


def check_late_name(pods, names):
    """Two nodes start before the name exists, two after it named some."""
    seed = "--join=dns:starling:7600"
    for k in (0, 1):
        pods.start(k, seed)
    said = "do not know"
    told = eventually(lambda: said in " ".join(pods.nodes[0].reasons()))
    report("a name that does not exist yet is told", said, told)
    names.set_addresses("starling.pods.test", [pods.network.address(k) for k in (0, 1)])
    for k in (2, 3):
        pods.start(k, seed)
    good, time_s = all_meet(pods, NODES)
    report("a headless service", f"{NODES} nodes by dns:starling:7600 in {time_s:.1f} s", good)


def check_moved(pods, names):
    """A node that was killed comes back under its name at another address."""
    pods.kill(3)
    networks.run("ip", "-n", "node-3", "addr", "flush", "dev", "eth0", "scope", "global")
    networks.run("ip", "-n", "node-3", "addr", "add", "10.78.0.44/24", "dev", "eth0")
    began = time.monotonic()
    pods.start(3, "--join=dns:starling:7600")
    moved = eventually(
        lambda: all(pods.alive(k).get("node-3") == "10.78.0.44:7600" for k in range(3)))
    report("a node at another address", f"all know it in {time.monotonic() - began:.1f} s",
           moved and pods.trains(3))
    codes = pods.end()
    report("leaving", f"exit codes {codes}", codes == [0] * NODES)
    names.clear()


def check_service(pods, names):
    hosts = [f"node-{k}.pods.test" for k in range(3)]
    for k, host in enumerate(hosts):
        names.set_addresses(host, [pods.network.address(k)])
    names.set_service("_control._tcp.starling.pods.test", hosts, 7600)
    for k in range(3):
        pods.start(k, "--join=dns:_control._tcp.starling")
    good, time_s = all_meet(pods, 3)
    report("records SRV", f"3 nodes by dns:_control._tcp.starling in {time_s:.1f} s", good)
    pods.end()
    names.clear()


def check_moved_name(pods, names):
    """A node that others know by its host name comes back, and the name leads elsewhere now."""
    for k in range(2):
        names.set_addresses(f"node-{k}.pods.test", [pods.network.address(k)])
    seed = "--join=node-0.pods.test:7600"
    pods.start(0, "--listen.advertise=node-0.pods.test", seed)
    pods.start(1, "--listen.advertise=node-1.pods.test", seed)
    good, time_s = all_meet(pods, 2)
    report("nodes by their host names", f"in {time_s:.1f} s", good)
    pods.kill(1)
    networks.run("ip", "-n", "node-1", "addr", "flush", "dev", "eth0", "scope", "global")
    networks.run("ip", "-n", "node-1", "addr", "add", "10.78.0.55/24", "dev", "eth0")
    names.set_addresses("node-1.pods.test", ["10.78.0.55"])
    began = time.monotonic()
    pods.start(1, "--listen.advertise=node-1.pods.test", seed)
    back = eventually(lambda: len(pods.alive(1)) == 2) and pods.trains(1)
    report("a host name that moves", f"trains again in {time.monotonic() - began:.1f} s", back)
    pods.end()
    names.clear()


def check_own_names(pods, names):
    """As Debian sets up a machine: its name stands for 127.0.1.1 there, and for nothing elsewhere.
    No edge carries a vector unless some node is found to be one that others reach."""
    names.clear()
    for nodes in (2, NODES):
        for k in range(nodes):
            pods.start(k, f"--listen.advertise=machine-{k}", "--topology.kind=ring",
                       f"--cluster.expect={nodes}", f"--join={pods.network.address(0)}:7600",
                       hosts=f"127.0.1.1 machine-{k}")
        good, time_s = all_meet(pods, nodes)
        brought = eventually(lambda: all(
            edge["received_bytes"] > 0 for node in pods.nodes.values()
            for edge in node.look("/v1/neighbors").get("neighbors", [{"received_bytes": 0}])))
        report("host names that nobody else knows",
               f"{nodes} nodes train in {time_s:.1f} s, each edge carries vectors: {brought}",
               good and brought)
        said = "node-0 cannot reach this node at machine-1:7600"
        report("it is told", said, eventually(lambda: said in " ".join(pods.nodes[1].reasons())))
        codes = pods.end()
        report("leaving", f"exit codes {codes}", codes == [0] * nodes)


def check_v6(pods, names):
    """No node has an address of IPv4."""
    for k in range(NODES):
        networks.run("ip", "-n", f"node-{k}", "-4", "addr", "flush", "dev", "eth0")
        networks.run("ip", "-n", f"node-{k}", "-6", "addr", "replace", f"fd78::{k + 1}/64",
                     "dev", "eth0", "nodad")
    names.set_addresses("starling.pods.test", [f"fd78::{k + 1}" for k in range(NODES)])
    for k in range(NODES):
        pods.start(k, "--join=dns:starling:7600", listen="[::]")
    good, time_s = all_meet(pods, NODES)
    at = sorted(pods.alive(0).values())
    expected = [f"[fd78::{k + 1}]:7600" for k in range(NODES)]
    report("IPv6 alone", f"{', '.join(at)} in {time_s:.1f} s", good and at == expected)
    pods.end()


def main():
    if not networks.is_inside():
        return networks.run_inside_or_skip()
    with tempfile.TemporaryDirectory() as folder, networks.Network(NODES) as network:
        path = os.path.join(folder, "resolv.conf")
        with open(path, "w") as stream:
            stream.write(RESOLVER)
        networks.run("mount", "--bind", path, "/etc/resolv.conf")
        networks.run("ip", "addr", "add", f"{SERVERS[0]}/24", "dev", network.BRIDGE)
        networks.run("ip", "-6", "addr", "add", f"{SERVERS[1]}/64", "dev", network.BRIDGE, "nodad")
        names, pods = Names(), Pods(network, folder)
        serve(names)
        for check in (check_published, check_late_name, check_moved, check_service, check_moved_name,
                      check_own_names, check_v6):
            check(pods, names)
        networks.run("umount", "/etc/resolv.conf")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
