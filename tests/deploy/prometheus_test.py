#!/usr/bin/env python3
"""Prometheus and its alerts, and the dashboard of Grafana, over real nodes.

    prometheus_test.py STARLING

promtool checks the configuration, the alerts, when they fire, and the metrics of a node. Then a real
Prometheus, with the configuration of deploy/prometheus, scrapes the eight nodes of `starling up`
until every panel of the dashboard has data and the round grows. Exit code 77, and a word, where there
is no Prometheus and none can be had.
"""
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from nodes.watch import DEADLINE_S, SKIPPED, eventually  # noqa: E402

NODES = 8
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DEPLOY = ROOT / "deploy" / "prometheus"
DASHBOARD = ROOT / "deploy" / "grafana" / "starling.json"
SMALL = ["--cluster.preset=local", "--data.source=digits", "--data.samples=2000",
         "--model.kind=softmax", "--topology.kind=ring", "--eval.every=50",
         "--stop.rounds=1000000000"]
# What Grafana puts in for its variables.
VARIABLES = {"$instance": ".*", "$__rate_interval": "10s"}
METRIC = re.compile(r"\bstarling_[a-z_]+\b")


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def expressions():
    """Every expression of the dashboard, with its panel, and those of the alerts as one text."""
    dashboard = json.loads(DASHBOARD.read_text())
    assert dashboard["schemaVersion"] >= 38
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    panels = [(panel["title"], target["expr"]) for panel in dashboard["panels"]
              for target in panel["targets"]]
    assert len(panels) > 15
    cells = set()
    for panel in dashboard["panels"]:
        assert panel["description"] and panel["datasource"]["uid"] == "${datasource}", panel["title"]
        place = panel["gridPos"]
        own = {(x, y) for x in range(place["x"], place["x"] + place["w"])
               for y in range(place["y"], place["y"] + place["h"])}
        assert not own & cells and max(own)[0] < 24, f"{panel['title']} lies on another"
        cells |= own
    return panels, (DEPLOY / "alerts.yml").read_text()


class Prometheus:
    """Scrapes every second with the shipped configuration, which is told every fifteen."""

    def __init__(self, folder, tools, nodes):
        shipped = (DEPLOY / "prometheus.yml").read_text()
        fast = shipped.replace("interval: 15s", "interval: 1s")
        assert fast != shipped
        (folder / "prometheus.yml").write_text(fast)
        (folder / "alerts.yml").write_text((DEPLOY / "alerts.yml").read_text())
        (folder / "nodes.json").write_text(json.dumps(nodes))
        self.address = free_address()
        self.log = open(folder / "prometheus.log", "wb")
        self.process = subprocess.Popen(
            [tools / "prometheus", f"--config.file={folder / 'prometheus.yml'}",
             f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={self.address}"],
            stdout=subprocess.DEVNULL, stderr=self.log)

    def query(self, expression):
        for name, value in VARIABLES.items():
            expression = expression.replace(name, value)
        text = get(f"http://{self.address}/api/v1/query?"
                   + urllib.parse.urlencode({"query": expression}))
        return {tuple(sorted(series["metric"].items())): float(series["value"][1])
                for series in json.loads(text)["data"]["result"]}

    def rounds_of_all(self):
        """By instance; nothing while a node has not been asked since it tells a round."""
        rounds = {dict(series)["instance"]: value for series, value in self.query("starling_round").items()}
        return rounds if len(rounds) == NODES else None

    def targets_up(self):
        targets = json.loads(get(f"http://{self.address}/api/v1/targets"))["data"]["activeTargets"]
        return [target for target in targets if target["health"] == "up"]

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


class Cluster:
    """`starling up`, and where its nodes answer."""

    def __init__(self, program, folder):
        self.http = free_address()
        self.process = subprocess.Popen(
            [program, "up", "-n", str(NODES), "--keep", f"--listen.http={self.http}", *SMALL],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def members(self):
        members = json.loads(get(f"http://{self.http}/v1/members"))["members"]
        return members if len(members) == NODES else None

    def metrics(self):
        return get(f"http://{self.http}/metrics")

    def stop(self):
        """It ends its nodes itself."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=DEADLINE_S)


def with_token(folder):
    """The shipped configuration with the lines of the token taken out of their comments."""
    text = (DEPLOY / "prometheus.yml").read_text()
    used = text.replace("# authorization:", "authorization:").replace("#   cred", "  cred")
    assert used.count("credentials_file: token") == 1 and used != text
    (folder / "with-token.yml").write_text(used)
    (folder / "token").write_text("secret-of-a-test\n")
    (folder / "alerts.yml").write_text((DEPLOY / "alerts.yml").read_text())
    (folder / "nodes.json").write_text((DEPLOY / "nodes.json").read_text())
    return folder / "with-token.yml"


def promtool_is_content(tools, folder):
    for arguments in (["check", "config", DEPLOY / "prometheus.yml"],
                      ["check", "config", with_token(folder)],
                      ["check", "rules", DEPLOY / "alerts.yml"],
                      ["test", "rules", HERE / "alerts_test.yml"]):
        done = subprocess.run([tools / "promtool", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def the_linter_is_content(tools, metrics):
    done = subprocess.run([tools / "promtool", "check", "metrics"], input=metrics, text=True,
                          capture_output=True)
    assert done.returncode == 0 and not done.stderr, done.stderr


def every_name_is_a_metric(metrics):
    known = set(re.findall(r"^# TYPE (\S+)", metrics, re.MULTILINE))
    panels, alerts = expressions()
    page = (ROOT / "docs" / "watching.md").read_text()
    named = {name for text in [*(text for _, text in panels), alerts] for name in METRIC.findall(text)}
    named |= {name for name in re.findall(r"`(starling_[a-z_]+)[`{]", page)}
    assert len(named) > 20, named
    for alert in re.findall(r"alert: (\w+)", alerts):
        assert f"`{alert}`" in page, f"docs/watching.md does not name {alert}"
    assert not named - known, f"not in /metrics: {sorted(named - known)}"


def counters(metrics):
    """Those of the node; those of an edge begin with the edge, and it closes while others join."""
    names = set(re.findall(r"^# TYPE (?!starling_neighbor_)(\S+) counter", metrics, re.MULTILINE))
    series = (line.rsplit(" ", 1) for line in metrics.splitlines() if not line.startswith("#"))
    return {key: float(value) for key, value in series if key.split("{")[0] in names}


def no_counter_goes_back(before, after):
    before, after = counters(before), counters(after)
    assert len(before) > 15 and before.keys() <= after.keys(), before.keys() - after.keys()
    for key, value in before.items():
        assert after[key] >= value, f"{key} went from {value} to {after[key]}"
    assert after["starling_steps_total"] > before["starling_steps_total"]


def prometheus_sees_all(prometheus):
    eventually(lambda: len(prometheus.targets_up()) == NODES, "eight targets that are up")
    first = eventually(prometheus.rounds_of_all, "the rounds of eight nodes")
    eventually(lambda: (now := prometheus.rounds_of_all()) and all(now[node] > first[node] for node in first),
               "rounds grow")
    assert set(first) == {f"node-{k}" for k in range(NODES)}, first
    for panel, expression in expressions()[0]:
        eventually(lambda: prometheus.query(expression), f"data for {panel}: {expression}")
    groups = json.loads(get(f"http://{prometheus.address}/api/v1/rules"))["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == 5 and all(rule["health"] == "ok" for rule in rules), rules


def prometheus_misses_who_leaves(prometheus, member):
    request = urllib.request.Request(f"http://{member['http']}/v1/leave", method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 202
    pending = {("alertname", "StarlingNodeUnreachable"), ("instance", member["name"])}
    eventually(lambda: [series for series in prometheus.query("ALERTS") if pending <= set(series)],
               "the alert of the node that left")
    eventually(lambda: prometheus.query('max(starling_members{state="left"}) == 1'), "who left")


def main():
    found = subprocess.run([ROOT / "tests" / "tools" / "prometheus"], capture_output=True, text=True)
    if found.returncode != 0:
        print(f"skipped: {found.stderr.strip()}")
        sys.exit(SKIPPED)
    tools = Path(found.stdout.strip())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        promtool_is_content(tools, folder)
        running = [Cluster(sys.argv[1], folder)]
        try:
            members = eventually(running[0].members, "eight members")
            nodes = [{"targets": [member["http"]], "labels": {"instance": member["name"]}}
                     for member in members]
            prometheus = Prometheus(folder, tools, nodes)
            running.append(prometheus)
            before = running[0].metrics()
            prometheus_sees_all(prometheus)
            no_counter_goes_back(before, running[0].metrics())
            the_linter_is_content(tools, running[0].metrics())
            every_name_is_a_metric(running[0].metrics())
            prometheus_misses_who_leaves(prometheus, members[-1])
        finally:
            for one in reversed(running):
                one.stop()


if __name__ == "__main__":
    main()
