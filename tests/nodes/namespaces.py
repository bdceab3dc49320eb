"""Thin and lossy links: one network namespace a node, each joined to a bridge by a veth.

Everything lies in namespaces of the calling program's own (network, mounts, processes), so that
nothing of it outlives the program, however that ends, and no address can meet one of the machine's.
Needs root, iproute2, nftables and util-linux.
"""

import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass

from .watch import SKIPPED

TOOLS = ("ip", "tc", "nft", "unshare", "nsenter")
TOOLS_WITHOUT_LOSS = ("ip", "tc", "unshare", "nsenter")
INSIDE = "BENCH_NAMESPACES"  # set in the environment of the program in its own namespaces
CLONE_NEWNET = 0x40000000
HEADER_BYTES = 14 + 20 + 32  # Ethernet, IPv4, TCP with timestamps
BURST_S = 0.001  # of the rate may leave at once
BURST_BYTES_LEAST = 2 * 1514
QUEUE_S = 0.4  # of the rate may wait before a packet is dropped
QUEUE_BYTES_LEAST = 1 << 20
CONTROL_PORT = 7600  # of every node, each in its own namespace
HOME = os.open("/proc/self/ns/net", os.O_RDONLY)
libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Place:
    """Where a node lives: its address, what its command begins with, and its network namespace."""
    host: str = "127.0.0.1"
    port: int = 0
    prefix: tuple = ()
    namespace: str = ""


def why_not(tools=TOOLS):
    """Why there can be no namespaces here; empty when there can."""
    if os.geteuid() != 0:
        return "needs root"
    lacking = [tool for tool in tools if not shutil.which(tool)]
    if lacking:
        return f"needs {', '.join(lacking)} (Debian: iproute2 nftables util-linux)"
    trial = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "ip", "link", "add",
                            "starling0", "type", "veth"], capture_output=True, text=True)
    return f"cannot make namespaces: {trial.stderr.strip()}" if trial.returncode else ""


def is_inside():
    return INSIDE in os.environ


def run_inside():
    """Runs this program again in namespaces of its own, in which loopback is up; its exit code."""
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child",
               "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, *sys.argv]
    process = subprocess.Popen(command, env={**os.environ, INSIDE: "1"})
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            pass  # the program inside was told too, and ends its children


def run_inside_or_skip():
    """The exit code of run_inside(), or that of a test that lacks something, and a word."""
    if reason := why_not():
        print(f"SKIPPED: {reason}")
        return SKIPPED
    return run_inside()


def run(*words, text=None):
    done = subprocess.run(words, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


class Network:
    """`nodes` namespaces. REQUIRES is_inside(); there is at most one at a time."""

    BRIDGE = "bridge"

    def __init__(self, nodes, congestion=""):
        """`congestion`: the congestion control of TCP; empty: the machine's."""
        self.nodes, self.congestion = nodes, congestion
        os.makedirs("/run/netns", exist_ok=True)
        run("mount", "-t", "tmpfs", "none", "/run/netns")
        run("ip", "link", "add", self.BRIDGE, "type", "bridge")
        run("ip", "link", "set", self.BRIDGE, "up")
        for k in range(nodes):
            self._add(k)

    def bridge(self, _):
        """Of that node."""
        return self.BRIDGE

    def _add(self, k):
        name, end = f"node-{k}", f"end-{k}"
        run("ip", "netns", "add", name)
        run("ip", "link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", end, "master", self.bridge(k), "up")
        run("ip", "-n", name, "addr", "add", f"{self.address(k)}/24", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        run("ip", "-n", name, "link", "set", "lo", "up")
        if self.congestion:
            setting = f"net.ipv4.tcp_congestion_control={self.congestion}"
            run(*self.prefix(k), "sysctl", "-w", setting)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for k in range(self.nodes):
            run("ip", "link", "del", f"end-{k}")
            run("ip", "netns", "del", f"node-{k}")
        run("ip", "link", "del", self.BRIDGE)
        run("umount", "/run/netns")

    def address(self, k):
        return f"10.78.0.{k + 1}"

    def path(self, k):
        return f"/run/netns/node-{k}"

    def prefix(self, k):
        """What a command begins with that runs on node k."""
        return ["nsenter", f"--net={self.path(k)}"]

    def place(self, k):
        return Place(self.address(k), CONTROL_PORT, tuple(self.prefix(k)), self.path(k))

    def limit(self, bits_per_s, nodes=None):
        """Both ends of the link of each of the nodes, or of all, carry this much."""
        for k in range(self.nodes) if nodes is None else nodes:
            for place in (["-n", f"node-{k}"], "eth0"), ([], f"end-{k}"):
                self._shape(*place, bits_per_s)

    @staticmethod
    def _shape(namespace, device, bits_per_s):
        """A packet that waits and is larger than the burst of a new rate would block it for ever:
        what waits is lost."""
        bytes_per_s = bits_per_s / 8
        burst = max(BURST_BYTES_LEAST, int(bytes_per_s * BURST_S))
        queue = max(QUEUE_BYTES_LEAST, int(bytes_per_s * QUEUE_S))
        shape = ["root", "tbf", "rate", f"{bits_per_s:.0f}bit", "burst", str(burst),
                 "limit", str(queue)]
        subprocess.run(["tc", *namespace, "qdisc", "del", "dev", device, "root"],
                       capture_output=True)
        run("tc", *namespace, "qdisc", "add", "dev", device, *shape)

    def lose(self, share, small_packets=True):
        """Every node loses this share of the packets that reach it. The kernel hands a veth up to
        64 KB as one packet; a real link loses single frames, and so do `small_packets`."""
        rules = "flush ruleset\n"
        if share > 0:
            rules += f"""
            table inet starling {{
              chain input {{
                type filter hook input priority 0;
                iifname "eth0" numgen random mod 10000 < {round(share * 10000)} drop
              }}
            }}
            """
        segments = "1" if small_packets and share > 0 else "65535"
        for k in range(self.nodes):
            run(*self.prefix(k), "nft", "-f", "-", text=rules)
            run("ip", "-n", f"node-{k}", "link", "set", "eth0", "gso_max_segs", segments)

    def sent_bytes(self, end="end-"):
        """What all nodes have sent on their links, without the headers of the packets."""
        links = json.loads(run("ip", "-s", "-j", "link", "show", "type", "veth"))
        counts = [link["stats64"]["rx"] for link in links if link["ifname"].startswith(end)]
        return sum(c["bytes"] - HEADER_BYTES * c["packets"] for c in counts)


class Sites(Network):
    """The nodes in turn in so many sites: each a bridge of its own, joined to the others by one thin link."""

    def __init__(self, nodes, sites, bits_per_s):
        self.sites, self.bits_per_s = sites, bits_per_s
        super().__init__(nodes)

    def bridge(self, k):
        site, core = f"site-{k % self.sites}", f"core-{k % self.sites}"
        if k < self.sites:
            run("ip", "link", "add", site, "type", "bridge")
            run("ip", "link", "add", f"up-{k}", "type", "veth", "peer", "name", core)
            for device, bridge in (f"up-{k}", site), (core, self.BRIDGE):
                run("ip", "link", "set", device, "master", bridge, "up")
                self._shape([], device, self.bits_per_s)
            run("ip", "link", "set", site, "up")
        return site

    def __exit__(self, *what):
        for site in range(self.sites):
            run("ip", "link", "del", f"up-{site}")
        super().__exit__(*what)
        for site in range(self.sites):
            run("ip", "link", "del", f"site-{site}")

    @staticmethod
    def cut(site):
        run("ip", "link", "set", f"core-{site}", "down")

    @staticmethod
    def heal(site):
        run("ip", "link", "set", f"core-{site}", "up")

    def thin_bytes(self):
        """What has left all sites, without the headers of the packets."""
        return self.sent_bytes("core-")


def enter(descriptor):
    if libc.setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def set_namespace(path):
    """Of the calling thread."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        enter(descriptor)
    finally:
        os.close(descriptor)


def connect(path, address, timeout_s=5):
    """A connection from within the namespace, or from here where `path` is empty."""
    if not path:
        return socket.create_connection(address, timeout_s)
    set_namespace(path)
    try:
        return socket.create_connection(address, timeout_s)
    finally:
        enter(HOME)
