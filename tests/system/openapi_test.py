#!/usr/bin/env python3
"""/openapi.json beside the live answers of nodes in every state.

    openapi_test.py STARLING REPOSITORY

Starts nodes that are starting, joining, training, paused, degraded, leaving and finished, asks each for
every resource of the document, and validates each answer by JSON Schema (2020-12, the dialect of
OpenAPI 3.1). No object has fields that the document does not know, and what the document knows is seen.
Exit code 77, and a word, where there is no python3-jsonschema.
"""
import json
import re
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from nodes import program  # noqa: E402
from nodes.node import Node  # noqa: E402
from nodes.watch import eventually, needed  # noqa: E402

jsonschema = needed("jsonschema")

METHODS = ("get", "post")
SMALL = ["--cluster.preset=local", "--data.source=digits", "--data.samples=300", "--model.kind=softmax",
         "--topology.kind=ring", "--eval.every=5", "--optim.local-steps=auto",
         "--exchange.codec=auto"]
# Not brought about here: a regression, a known optimum, an end short of the goal, 256 rounds of
# averaging, the first epoch of the extremes, which ends after more than ten seconds, and a node that
# others wait for.
RARE = {"Evaluation.rmse", "Point.rmse", "Run.distance_to_optimum", "Point.distance_to_optimum",
        "Run.shortfall", "Run.fault", "Consensus.mixing_rate", "Spread.min", "Spread.max",
        "Member.waits_for", "Member.waiting"}

GOAL = ("--stop.rounds=100000000",)  # which is agreed, and never reached


class Small(Node):
    def __init__(self, name, *arguments):
        super().__init__(name, *SMALL, *arguments)
        self.await_ready()

    def ask(self, method, target, body=None, **fields):
        answer = self.fetch(target, method.upper(), body, **fields)
        return answer.status, answer.headers.get_content_type(), answer.data, answer.headers


def ends_of(value):
    """The value with the ends of its long lists alone, whose items are all made by the same code."""
    if isinstance(value, dict):
        return {key: ends_of(part) for key, part in value.items()}
    if not isinstance(value, list):
        return value
    return [ends_of(item) for item in (value if len(value) <= 16 else value[:8] + value[-8:])]


class Document:
    def __init__(self, content):
        self.content = content
        self.resolver = jsonschema.RefResolver.from_schema(content)
        self.seen = set()

    def resolve(self, part):
        while "$ref" in part:
            part = self.resolver.resolve(part["$ref"])[1]
        return part

    def validate(self, schema, value, where):
        errors = list(jsonschema.Draft202012Validator(schema, resolver=self.resolver).iter_errors(value))
        assert not errors, f"{where}: {errors[0].message} at {list(errors[0].absolute_path)}"

    def check_itself(self):
        assert self.content["openapi"].startswith("3.1."), self.content["openapi"]
        for name, schema in self.content["components"]["schemas"].items():
            jsonschema.Draft202012Validator.check_schema(schema)
        for path, item in self.content["paths"].items():
            for method, operation in item.items():
                assert method in METHODS, f"{path}: {method}"
                contents = [operation.get("requestBody", {}).get("content", {})]
                contents += [self.resolve(r).get("content", {}) for r in operation["responses"].values()]
                for content in contents:
                    for kind, media in content.items():
                        if "example" in media:
                            self.validate(media["schema"], media["example"], f"example of {path}")

    def note(self, schema, value):
        """Which fields of which schema were seen."""
        name = schema.get("$ref", "").rsplit("/", 1)[-1]
        schema = self.resolve(schema)
        for choice in schema.get("oneOf", ()):
            if jsonschema.Draft202012Validator(choice, resolver=self.resolver).is_valid(value):
                self.note(choice, value)
        if isinstance(value, list) and "items" in schema:
            for item in value:
                self.note(schema["items"], item)
        elif isinstance(value, dict):
            for key, part in schema.get("properties", {}).items():
                if key in value:
                    self.seen.add(f"{name}.{key}")
                    self.note(part, value[key])

    def check(self, node, method, path, answer):
        status, kind, body, _ = answer
        where = f"{method} {path} of {node.name}: {status}"
        operation = self.content["paths"][path][method]
        assert str(status) in operation["responses"], f"{where}: not in the document"
        content = self.resolve(operation["responses"][str(status)]).get("content", {})
        if not content:
            assert body == b"", where
            return status
        known = {media.split(";")[0]: part for media, part in content.items()}
        assert kind in known, f"{where}: {kind}, expected one of {list(known)}"
        if kind == "application/json":
            schema, value = known[kind]["schema"], ends_of(json.loads(body))
            self.validate(schema, value, where)
            self.note(schema, value)
        return status

    def ask_all(self, node):
        """Every resource that can be read."""
        for path, item in self.content["paths"].items():
            if "get" in item:
                self.check(node, "get", path, node.ask("get", path))
        for path in ("/v1/topology?format=dot", "/v1/topology?format=moon", "/v1/convergence?since=3",
                     "/v1/convergence?since=x", "/v1/events?follow=0", "/v1/events?since=x"):
            self.check(node, "get", path.split("?")[0], node.ask("get", path))
        tag = node.ask("get", "/v1/events?follow=0")[3]["ETag"]
        answer = node.ask("get", "/v1/events?follow=0", If_None_Match=tag)
        self.check(node, "get", "/v1/events", answer)

    def fields(self):
        for name, schema in self.content["components"]["schemas"].items():
            for key in schema.get("properties", {}):
                yield f"{name}.{key}"


def document_of(node, repository):
    status, kind, body, _ = node.ask("GET", "/openapi.json")
    assert (status, kind) == (200, "application/json"), (status, kind)
    document = Document(json.loads(body))
    document.check_itself()
    version = program.starling("version").stdout
    assert document.content["info"]["version"] in version, version
    source = (repository / "daemon/rest/api.cpp").read_text()
    routes = {(path, method.lower()) for path, method in
              re.findall(r'^    \{"(/[^"]*)", "([A-Z]+)",', source, re.M)}
    assert len(routes) > 15, routes
    known = {(path, method) for path, item in document.content["paths"].items() for method in item}
    assert known - routes == {("/", "get"), ("/openapi.json", "get")}, known ^ routes
    assert routes <= known, routes - known
    return document


def refuses(document, node):
    """What is wrong is refused as the document says."""
    answer = node.ask("post", "/v1/checkpoint", "{}", Content_Type="application/json")
    assert document.check(node, "post", "/v1/checkpoint", answer) == 409, answer[:3]
    for path in ("/v1/join", "/v1/leave", "/v1/pause", "/v1/resume", "/v1/checkpoint", "/v1/predict"):
        for answer, expected in (
                (node.ask("post", path, "[", Content_Type="application/json"), 400),
                (node.ask("post", path, "x", Content_Type="text/plain"), 415),
                (node.ask("post", path, "{}", Content_Type="application/json",
                          Origin="http://elsewhere"), 403)):
            if path == "/v1/predict" and expected == 403:
                continue
            assert document.check(node, "post", path, answer) == expected, (path, answer[:3])


def predicts(document, folder, nodes):
    table = Path(folder) / "table.csv"
    rows = "".join(f"{k % 7},{'ab'[k % 2]},{'yes' if k % 13 == 3 else 'no'}\n" for k in range(400))
    table.write_text("age,job,y\n" + rows)
    node = Small("table", "--data.source=csv", f"--data.path={table}", "--data.target=y")
    nodes.append(node)
    node.wait_for("training")
    body = json.dumps({"rows": [{"age": 5, "job": "a"}, {"age": None, "job": "new"}]})
    answer = node.ask("post", "/v1/predict", body, Content_Type="application/json")
    assert document.check(node, "post", "/v1/predict", answer) == 200, answer[2]
    eventually(lambda: "auc" in node.get("/v1/status")["run"].get("eval", {}), "the rare class is evaluated")
    document.check(node, "get", "/v1/status", node.ask("get", "/v1/status"))


TRAINER = """
import numpy, os, starling, types
kept = types.SimpleNamespace(state_dict=lambda: {"a": 1}, load_state_dict=lambda state: None)
swarm = starling.attach(tensors={"x": numpy.zeros(4)}, keep=[kept])
while swarm.step(loss=1.0) and not os.path.exists(os.environ["GO"]):
    pass
os._exit(1)
"""


def trains_outside(document, repository, folder, nodes):
    """A node whose model is a trainer's, and that loses the trainer."""
    script, go = Path(folder) / "train.py", Path(folder) / "go"
    script.write_text(TRAINER)
    command = (f"GO={go} PYTHONPATH={repository / 'clients/python'} {sys.executable} {script}")
    node = Small("outside", f"--trainer={command}", f"--trainer.socket={folder}/trainer.sock",
                "--optim.algorithm=dpsgd")
    nodes.append(node)
    node.wait_for("training")
    eventually(lambda: node.get("/v1/status")["trainer"]["exchanges"] > 10, "the trainer exchanges")
    document.ask_all(node)
    go.touch()
    # The pauses double, so that one of them holds all questions.
    eventually(lambda: " time, " in node.get("/v1/status")["trainer"].get("pause", ""),
               "the trainer is lost again and again")
    document.ask_all(node)


def has_columns(document, folder, nodes):
    """Two sites with other columns; the first one has the target."""
    for name, columns in (("bank", "id,a,y"), ("shop", "id,b")):
        cells = {"id": "k{0}", "a": "{0}", "b": "{1}", "y": "{1}"}
        rows = [",".join(cells[column] for column in columns.split(",")).format(k, k * 7 % 11) for k in range(20 if name == "bank" else 18)]
        Path(folder, f"{name}.csv").write_text("\n".join([columns, *rows]))
        seed = [f"--join={nodes[-1].addresses['control']}"] if name == "shop" else []
        nodes.append(Small(name, f"--data.path={folder}/{name}.csv", "--data.target=y", "--data.split=columns",
                           "--data.key=id", "--data.task=regression", "--data.source=csv", "--model.kind=linear",
                           "--cluster.expect=2", "--optim.local-steps=1", "--exchange.codec=f64", *seed))
    for node in nodes[-2:]:
        node.wait_for("training")
        document.check(node, "get", "/v1/status", node.ask("get", "/v1/status"))
        body = json.dumps({"rows": ["0" * 16]})
        eventually(lambda: document.check(node, "post", "/v1/scores", node.ask(
            "post", "/v1/scores", body, **{"Content-Type": "application/json"})) == 200, "scores")
        node.kill()


def saves(document, folder, nodes):
    """A node that keeps checkpoints, alone and for the fleet, until its disk fails."""
    state = Path(folder) / "state"
    node = Small("saving", f"--node.data-dir={state}", "--checkpoint.every=0.1s")
    nodes.append(node)
    node.wait_for("training")
    answer = node.ask("post", "/v1/checkpoint", '{"fleet": true}', Content_Type="application/json")
    assert document.check(node, "post", "/v1/checkpoint", answer) == 202, answer[:3]
    eventually(lambda: (node.get("/v1/fleet")["checkpoint"] or {"missing": 1})["missing"] == [], "all have saved")
    document.ask_all(node)
    (state / "checkpoints").rename(state / "away")
    (state / "checkpoints").write_text("in the way")
    eventually(lambda: "problem" in node.get("/v1/status")["checkpoint"], "no checkpoint can be written")
    document.ask_all(node)


def every_state(document, first, nodes):
    def start(name, *arguments):
        nodes.append(Small(name, *arguments))
        return nodes[-1]

    def ask_last(node):
        document.ask_all(node)
        node.kill()  # what still trained would take the processor from the others

    first.wait_for("starting")
    document.ask_all(first)
    lost = start("joining", "--join=127.0.0.1:9")
    lost.wait_for("joining")
    ask_last(lost)
    second = start("node-2", "--cluster.expect=2", *GOAL, f"--join={first.addresses['control']}")
    for node in (first, second):
        node.wait_for("training")
    eventually(lambda: str(first.get("/v1/fleet")).count("mean_then") >= 3 and
               len(first.get("/v1/convergence")["series"]) >= 10 and
               "min" in str(first.get("/v1/convergence")["fleet"]), "the fleet becomes known")
    document.ask_all(first)
    refuses(document, first)
    assert document.check(first, "post", "/v1/pause", first.ask("post", "/v1/pause")) == 202
    first.wait_for("paused")
    document.ask_all(first)
    document.ask_all(second)
    assert document.check(first, "post", "/v1/resume", first.ask("post", "/v1/resume")) == 202
    first.wait_for("training")
    broken = start("degraded", "--optim.learning-rate=1000", "--model.l2=1")
    broken.wait_for("degraded")
    ask_last(broken)
    limited = start("finished", "--stop.rounds=30", "--stop.stay=true", "--optim.clip=1", "--optim.noise=1")
    limited.wait_for("finished")
    ask_last(limited)
    # The goodbye waits for the neighbour, whose process is stopped.
    second.process.send_signal(signal.SIGSTOP)
    assert document.check(first, "post", "/v1/leave", first.ask("post", "/v1/leave")) == 202
    first.wait_for("leaving")
    for path in ("/v1/status", "/healthz", "/readyz", "/metrics", "/v1/members", "/v1/neighbors",
                 "/v1/fleet", "/v1/topology", "/v1/config"):
        document.check(first, "get", path, first.ask("get", path))
    try:
        document.ask_all(first)
    except ConnectionError:
        pass  # it has left meanwhile


def has_keys(document, folder, nodes):
    """A relay with keys, and two nodes that nobody can dial."""
    def keygen(*arguments):
        program.starling("keygen", *arguments, cwd=folder)

    keygen("cluster")
    keyed = []
    for name in ("keyed", "hidden", "hidden-2"):
        keygen("node", "--name", name, "--group", "lab", "--out", name)
        seed = [f"--join={keyed[0].addresses['control']}", "--listen.advertise=none"] if keyed else []
        role = ["--node.role=relay"] if name == "keyed" else ["--node.group=ward"]
        keyed.append(Small(name, f"--node.data-dir={folder}/{name}", "--cluster.id=keyed", *seed, *role))
        nodes.append(keyed[-1])
    eventually(lambda: all("replaced" in json.loads(node.ask("get", "/v1/topology")[2]) for node in keyed),
               "two hidden members that would be neighbours")
    for path in ("/v1/status", "/v1/members", "/v1/topology"):
        for node in keyed:
            document.check(node, "get", path, node.ask("get", path))


def main():
    program.use(sys.argv[1])
    repository = Path(sys.argv[2])
    nodes = [Small("node-1", "--cluster.expect=2", *GOAL)]
    # It is removed after the nodes, which write to it.
    kept = tempfile.TemporaryDirectory()
    folder = kept.name
    try:
        document = document_of(nodes[0], repository)
        every_state(document, nodes[0], nodes)
        predicts(document, folder, nodes)
        has_columns(document, folder, nodes)
        saves(document, folder, nodes)
        has_keys(document, folder, nodes)
        trains_outside(document, repository, folder, nodes)
        unseen = {field for field in document.fields() if field not in document.seen} - RARE
        unseen = {field for field in unseen if not field.startswith(("Rows.", "Address.", "Nothing."))}
        assert not unseen, f"never seen in an answer: {sorted(unseen)}"
    finally:
        for node in nodes:
            node.kill()
        kept.cleanup()
    print("every answer is as /openapi.json says")


if __name__ == "__main__":
    main()
