#!/usr/bin/env python3
"""The files of Compose and Kubernetes beside the program: what they run are configurations that it
takes, their probes hold over a real node and not without one, and names, ports and labels agree.

    manifests_test.py STARLING

The published schemas are asked by tests/acceptance/manifests.sh, which needs the network.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from nodes import program  # noqa: E402
from nodes.node import Node  # noqa: E402
from nodes.watch import eventually, needed  # noqa: E402

yaml = needed("yaml")
PROGRAM = sys.argv[1]
SMALL = ["--data.samples=500", "--model.kind=softmax", "--cluster.preset=local",
         "--stop.rounds=1000000000"]


def takes(arguments):
    """That `starling run ARGUMENTS` has a configuration that the program reads."""
    assert arguments[0] == "run", arguments
    settings = [word for word in arguments[1:]
                if not word.startswith(("--cluster-key=", "--ticket-file="))]
    assert len(settings) == len(arguments) - 2, f"one source of keys: {arguments}"
    ended = subprocess.run([PROGRAM, "config", *settings], capture_output=True, text=True,
                           timeout=60)
    assert ended.returncode == 0, f"{arguments}: {ended.stderr}"
    return ended.stdout


def check_compose():
    compose = yaml.safe_load((ROOT / "deploy/docker/compose.yaml").read_text())
    nodes = {name: one for name, one in compose["services"].items() if name != "keys"}
    assert len(nodes) == 4
    made = compose["services"]["keys"]["volumes"][0].split(":")[0]
    for name, service in nodes.items():
        assert f"{made}:/keys:ro" in service["volumes"]
        takes(service["command"])
        assert f"--node.name={name}" in service["command"]
        assert f"--listen.advertise={name}" in service["command"]
        state, _ = service["volumes"][0].split(":")
        assert state in compose["volumes"]
    states = [service["volumes"][0] for service in nodes.values()]
    assert len(set(states)) == len(states), "two nodes share a folder"


def kubernetes():
    objects = list(yaml.safe_load_all((ROOT / "deploy/kubernetes/starling.yaml").read_text()))
    return {one["kind"]: one for one in objects}


def container_of(objects):
    return objects["StatefulSet"]["spec"]["template"]["spec"]["containers"][0]


def check_ticket(pod):
    """A pod sees its own ticket and no other, and its node reads the copy."""
    taking, running = pod["initContainers"][0], pod["containers"][0]
    source, target = taking["command"][-2:]
    mounts = {mount["mountPath"]: mount for mount in taking["volumeMounts"]}
    assert mounts[source]["subPathExpr"] == "$(POD_NAME)"
    assert f"--ticket-file={target}" in running["args"]
    assert mounts[source]["name"] not in {mount["name"] for mount in running["volumeMounts"]}


def check_kubernetes(objects, folder):
    spec, service = objects["StatefulSet"]["spec"], objects["Service"]
    labels = spec["template"]["metadata"]["labels"]
    for selector in (spec["selector"]["matchLabels"], service["spec"]["selector"],
                     objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
                     objects["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]):
        assert selector == labels
    assert spec["serviceName"] == service["metadata"]["name"]
    text = objects["ConfigMap"]["data"]["node.ini"]
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    seed = f"dns:{name}.{namespace}.svc.cluster.local:7600"
    assert f"join = {seed}\n" in text
    ini = folder / "node.ini"
    ini.write_text(text)  # what a name stands for is not asked
    arguments = [word.replace("/etc/starling/node.ini", str(ini)).replace("$(POD_NAME)", "starling-0")
                 .replace("$(POD_NAMESPACE)", namespace) for word in container_of(objects)["args"]]
    effective = takes(arguments)
    assert f"expect = {spec['replicas']} " in effective, "cluster.expect is not the number of replicas"
    assert f"advertise = starling-0.{name}.{namespace}.svc.cluster.local " in effective
    check_ticket(objects["StatefulSet"]["spec"]["template"]["spec"])
    ports = {port["port"] for port in service["spec"]["ports"]}
    allowed = objects["NetworkPolicy"]["spec"]["ingress"][0]["ports"]
    assert ports == {7600} == {port["port"] for port in allowed}


def probe(container, which, node):
    """Whether a probe holds, with the port of this node in place of the usual one."""
    command = container[which]["exec"]["command"]
    port = node.addresses["http"].rsplit(":", 1)[1]
    if command[0] == "starling":
        command = [PROGRAM, *command[1:], "--api", node.url]
    else:
        assert "7680" in command[-1]
        command = [*command[:-1], command[-1].replace("7680", port)]
    return subprocess.run(command, capture_output=True, timeout=60).returncode == 0


def check_probes(container):
    probes = [name for name in container if name.endswith("Probe")]
    assert len(probes) == 3
    program.use(PROGRAM)
    node = Node("starling-0", *SMALL)
    try:
        node.await_ready()
        for name in probes:
            eventually(lambda: probe(container, name, node), name)
    finally:
        node.stop()
    for name in probes:
        assert not probe(container, name, node), f"{name} holds without a node"


def check_dockerfile():
    """The health of an image, and what it runs."""
    lines = (ROOT / "deploy/docker/Dockerfile").read_text().splitlines()
    health = next(line for line in lines if line.startswith("HEALTHCHECK"))
    assert 'CMD ["starling", "status", "--json"]' in health
    assert any(line.startswith("USER ") and line != "USER 0" for line in lines)


def main():
    objects = kubernetes()
    check_compose()
    check_dockerfile()
    with tempfile.TemporaryDirectory() as name:
        check_kubernetes(objects, Path(name))
    check_probes(container_of(objects))


main()
