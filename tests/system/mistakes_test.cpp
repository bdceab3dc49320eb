// Deliberate mistakes, and what the program says to each, word for word: the thing, the value seen
// and the values allowed. Nothing is started.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/system/harness.h"

using namespace starling;

namespace {

#define KINDS                                                                       \
  "auto, ring, path, star, torus, grid, complete, hypercube, exponential, random, " \
  "random-regular, "                                                                \
  "erdos-renyi, small-world, file"

struct Mistake {
  const char* arguments;  // ROOT stands for the folder of the project
  const char* answer;
};

const Mistake kMistakes[] = {
    {"run --node.name=a\u202eb",
     "starling run: command line: node.name = \"a\u202eb\": expected UTF-8 without control and "
     "format characters, \"/\" and blanks at its ends, and not \".\" or \"..\""},
    {"run --node.name=../x",
     "starling run: command line: node.name = \"../x\": expected UTF-8 without control and format "
     "characters, \"/\" and blanks at its ends, and not \".\" or \"..\""},
    {"run --topology.knid=ring",
     "starling run: command line: unknown key topology.knid; did you mean topology.kind?"},
    {"run --topology.kind=rnig",
     "starling run: command line: topology.kind = \"rnig\": expected one of " KINDS ""},
    {"run --topology.kind",
     "starling run: --topology.kind has no value; write --topology.kind=VALUE"},
    {"run --topology.kind=",
     "starling run: command line: topology.kind = \"\": expected one of " KINDS ""},
    {"run --topology.degree=-1",
     "starling run: command line: topology.degree = \"-1\": expected a whole number from 2 to "
     "1024"},
    {"run --topology.degree=2.5",
     "starling run: command line: topology.degree = \"2.5\": expected a whole number from 2 to "
     "1024"},
    {"run --topology.kind=random --topology.degree=1",
     "starling run: command line: topology.degree = \"1\": expected a whole number from 2 to 1024"},
    {"run --topology.probability=2",
     "starling run: command line: topology.probability = \"2\": expected a number from 0 to 1"},
    {"run --topology.kind=file",
     "starling run: default: topology.file = \"\": expected the path of an edge list, as "
     "topology.kind is file"},
    {"run --topology.kind=file --topology.file=none.edges",
     "starling run: topology.file = \"none.edges\": No such file or directory; expected an edge "
     "list"},
    {"run --topology.kind=file --topology.file=three.edges",
     "starling run: three.edges:1: \"a b c\" holds 3 names; expected two names apart by a blank, "
     "or by ->"},
    {"run --topology.kind=file --topology.file=self.edges",
     "starling run: self.edges:1: \"node-0 node-0\" joins a node with itself; expected two "
     "different names"},
    {"run --topology.kind=file --topology.file=folder",
     "starling run: topology.file = \"folder\": cannot be read; expected an edge list"},
    {"run --optim.algorithm=adam",
     "starling run: command line: optim.algorithm = \"adam\": expected one of auto, dpsgd, "
     "dpsgd-pipelined, qg, ed, led, gt, kgt, extra, noloco, adpsgd, pairwise-ed, admm, "
     "push-pull"},
    {"run --optim.learning-rate=fast",
     "starling run: command line: optim.learning-rate = \"fast\": expected a number from 0 to "
     "1000000"},
    {"run --optim.learning-rate=-1",
     "starling run: command line: optim.learning-rate = \"-1\": expected a number from 0 to "
     "1000000"},
    {"run --optim.learning-rate=0,1",
     "starling run: command line: optim.learning-rate = \"0,1\": expected a number from 0 to "
     "1000000"},
    {"run --optim.learning-rate-schedule=cosine",
     "starling run: command line: optim.learning-rate-schedule = \"cosine\": expected constant, "
     "step:R:f, cosine:R, inverse:R or warmup:R with R >= 1 and 0 < f <= 1"},
    {"run --optim.momentum=2",
     "starling run: command line: optim.momentum = \"2\": expected a number from 0 to 0.999999"},
    {"run --optim.local-optimizer=rmsprop",
     "starling run: command line: optim.local-optimizer = \"rmsprop\": expected one of sgd, "
     "momentum, nesterov, adam, adamw"},
    {"run --optim.algorithm=qg --optim.local-optimizer=momentum",
     "starling run: command line: optim.local-optimizer = \"momentum\": qg brings a momentum of "
     "its own; use sgd, or algorithm dpsgd"},
    {"run --optim.algorithm=ed --optim.local-optimizer=adam",
     "starling run: command line: optim.local-optimizer = \"adam\": the limit of ed with adam is "
     "biased; use sgd or momentum, or algorithm gt, which is exact with adam"},
    {"run --optim.algorithm=extra --exchange.schedule=async",
     "starling run: command line: exchange.schedule = \"async\": extra may diverge where vectors "
     "of different rounds are averaged, as async does; use rounds, or algorithm ed, gt or admm"},
    {"run --optim.algorithm=dpsgd --exchange.schedule=pairwise",
     "starling run: command line: exchange.schedule = \"pairwise\": dpsgd averages with all "
     "neighbours at once; use rounds, or algorithm adpsgd"},
    {"run --optim.algorithm=adpsgd --exchange.schedule=rounds",
     "starling run: command line: exchange.schedule = \"rounds\": adpsgd exchanges two at a time; "
     "use pairwise, or algorithm dpsgd"},
    {"run --optim.algorithm=ed --topology.kind=exponential",
     "starling run: command line: topology.kind = \"exponential\": its edges lead one way, and ed "
     "needs both; use hypercube or random, or algorithm push-pull"},
    {"run --optim.algorithm=extra --exchange.quorum=0.5",
     "starling run: command line: exchange.quorum = \"0.5\": extra may diverge where vectors of "
     "different rounds are averaged, as with those that a quorum leaves behind; use 1, or "
     "algorithm ed, gt or admm"},
    {"run --exchange.quorum=0",
     "starling run: command line: exchange.quorum = \"0\": expected a number from 1e-09 to 1"},
    {"run --exchange.schedule=sometimes",
     "starling run: command line: exchange.schedule = \"sometimes\": expected one of rounds, "
     "ssp, async, pairwise, allreduce"},
    {"run --exchange.codec=f8",
     "starling run: command line: exchange.codec = \"f8\": expected one of native, f32, f64, f16, "
     "bf16, i8, i4, i2, top:5%, auto"},
    {"run --exchange.codec=top:70%",
     "starling run: command line: exchange.codec = \"top:70%\": expected top:P% with P from 0.1 to "
     "50, as top:5%"},
    {"run --exchange.codec=top:5% --optim.algorithm=dpsgd",
     "starling run: command line: exchange.codec = \"top:5%\": top:5% makes the graph mix more "
     "slowly, and the bias of dpsgd grows with that; use i4, or algorithm ed"},
    {"run --exchange.codec=i4 --exchange.missing=reuse",
     "starling run: command line: exchange.codec = \"i4\": i4 tells what changed since the vector "
     "before, so that none can be left out, as with exchange.missing = reuse; use late, or codec "
     "bf16"},
    {"run --exchange.missing=never",
     "starling run: command line: exchange.missing = \"never\": expected one of late, reuse, self"},
    {"run --exchange.staleness=-1",
     "starling run: command line: exchange.staleness = \"-1\": expected a whole number from 0 to "
     "1000000"},
    {"run --optim.batch-size=-1",
     "starling run: command line: optim.batch-size = \"-1\": expected a whole number from 0 to "
     "1000000000"},
    {"run --optim.local-steps=0",
     "starling run: command line: optim.local-steps = \"0\": expected auto, or a whole number from "
     "1 to 1000000"},
    {"run --optim.weight-decay=-0.1",
     "starling run: command line: optim.weight-decay = \"-0.1\": expected a number from 0 to "
     "1000000"},
    {"run --model.kind=cnn",
     "starling run: command line: model.kind = \"cnn\": expected one of auto, linear, logistic, "
     "softmax, mlp, net, external"},
    {"run --model.hidden=0",
     "starling run: command line: model.hidden = \"0\": expected 1 to 16 sizes from 1 to 65536, "
     "separated by commas"},
    {"run --model.hidden=64,x",
     "starling run: command line: model.hidden = \"64,x\": expected 1 to 16 sizes from 1 to 65536, "
     "separated by commas"},
    {"run --model.l2=-1",
     "starling run: command line: model.l2 = \"-1\": expected auto, or a number from 0 to 1000000"},
    {"run --model.precision=f16",
     "starling run: command line: model.precision = \"f16\": expected one of f32, f64"},
    {"run --model.kind=linear",
     "starling run: model.kind = linear does not fit data.source = digits, which has 10 classes; "
     "expected auto, mlp, softmax, net"},
    {"run --model.layers=conv:16:5,pol:2",
     "starling run: command line: model.layers = \"conv:16:5,pol:2\": \"pol:2\" (layer 2): "
     "expected "
     "one of conv:CHANNELS:KERNEL, pool:SIZE, dense:UNITS, norm"},
    {"run --model.kind=net --model.layers=conv:16:5,pool:2,conv:32:5,pool:2,conv:32:5",
     "starling run: model.layers: conv:32:5 (layer 5) gets images of 4 x 4; expected at least 5 x "
     "5"},
    {"run --model.kind=net --data.source=houses",
     "starling run: model.kind = net learns images, and data.source = houses has none; expected "
     "auto, linear, mlp"},
    {"run --data.source=moon",
     "starling run: command line: data.source = \"moon\": expected one of digits, houses, "
     "reference, idx, csv, libsvm"},
    {"run --data.source=csv",
     "starling run: default: data.path = \"\": data.source = csv reads files; say where"},
    {"run --data.path=ab.csv",
     "starling run: command line: data.path = \"ab.csv\": data.source = digits reads no file; a "
     "table needs data.target"},
    {"run --data.source=csv --data.path=none.csv --data.target=y",
     "starling run: none.csv: No such file or directory"},
    {"run --data.source=csv --data.path=ab.csv",
     "starling run: ab.csv: data.target = \"\" names no column, expected one of a, b"},
    {"run --data.source=csv --data.path=ab.csv --data.target=y",
     "starling run: ab.csv: data.target = \"y\" is no column, expected one of a, b"},
    {"run --data.source=csv --data.path=empty.csv --data.target=y",
     "starling run: empty.csv: empty, expected a table with a header"},
    {"run --data.source=csv --data.path=aa.csv --data.target=a",
     "starling run: aa.csv: line 1: the header names two columns \"a\"; rename one of them"},
    {"run --data.source=csv --data.path=wy.csv --data.target=y --data.task=regression",
     "starling run: wy.csv: target y: line 2 holds \"x\", expected a number, or data.task = "
     "classification"},
    {"run --data.source=csv --data.path=y.csv --data.target=y",
     "starling run: y.csv: only one column, \"y\"; expected several between commas, semicolons or "
     "tabs (data.separator)"},
    {"run --data.source=csv --data.path=quote.csv --data.target=y",
     "starling run: quote.csv: line 2: a quote is never closed"},
    {"run --data.source=csv --data.path=folder --data.target=y",
     "starling run: folder: is a directory, expected a file"},
    {"run --data.source=libsvm --data.path=zero.svm",
     "starling run: zero.svm: line 1: \"0:1\", expected INDEX:VALUE with INDEX from 1 to 10000000"},
    {"run --data.source=libsvm --data.path=order.svm",
     "starling run: order.svm: line 1: index 1 after 2, expected ascending indices"},
    {"run --data.source=idx --data.path=folder",
     "starling run: folder/train-images-idx3-ubyte: No such file or directory"},
    {"run --data.source=idx --data.path=nowhere",
     "starling run: nowhere/train-images-idx3-ubyte: No such file or directory"},
    {"run --data.holdout=1",
     "starling run: command line: data.holdout = \"1\": expected a number from 0 to 0.9"},
    {"run --data.holdout=-0.1",
     "starling run: command line: data.holdout = \"-0.1\": expected a number from 0 to 0.9"},
    {"run --data.samples=0",
     "starling run: command line: data.samples = \"0\": expected a whole number from 10 to "
     "1000000"},
    {"run --data.samples=1e3",
     "starling run: command line: data.samples = \"1e3\": expected a whole number from 10 to "
     "1000000"},
    {"run --data.partition=byLabel",
     "starling run: command line: data.partition = \"byLabel\": expected iid, by-label, contiguous "
     "or dirichlet:ALPHA with ALPHA from 0.001 to 1000000"},
    {"run --data.partition=dirichlet",
     "starling run: command line: data.partition = \"dirichlet\": expected iid, by-label, "
     "contiguous or dirichlet:ALPHA with ALPHA from 0.001 to 1000000"},
    {"run --data.partition=dirichlet:0",
     "starling run: command line: data.partition = \"dirichlet:0\": expected iid, by-label, "
     "contiguous or dirichlet:ALPHA with ALPHA from 0.001 to 1000000"},
    {"run --data.shard=3/2",
     "starling run: command line: data.shard = \"3/2\": expected auto, all or I/N with 0 <= I < N "
     "<= 1000000"},
    {"run --data.shard=half",
     "starling run: command line: data.shard = \"half\": expected auto, all or I/N with 0 <= I < N "
     "<= 1000000"},
    {"run --stop.rounds=-1",
     "starling run: command line: stop.rounds = \"-1\": expected a whole number from 0 to "
     "1099511627776"},
    {"run --stop.rounds=ten",
     "starling run: command line: stop.rounds = \"ten\": expected a whole number from 0 to "
     "1099511627776"},
    {"run --stop.accuracy=95",
     "starling run: command line: stop.accuracy = \"95\": expected a number from 0 to 1"},
    {"run --stop.accuracy=95%",
     "starling run: command line: stop.accuracy = \"95%\": expected a number from 0 to 1"},
    {"run --stop.loss=low",
     "starling run: command line: stop.loss = \"low\": expected a number from 0 to 1e+300"},
    {"run --stop.seconds=-3",
     "starling run: command line: stop.seconds = \"-3\": expected a duration from 0 to 1000000000 "
     "s, "
     "such as 30, 500ms, 10m or 1h"},
    {"run --stop.stay=maybe",
     "starling run: command line: stop.stay = \"maybe\": expected one of false, no, off, true, "
     "yes, "
     "on"},
    {"run --eval.every=0",
     "starling run: command line: eval.every = \"0\": expected a whole number from 1 to "
     "1000000000"},
    {"run --cluster.preset=moon",
     "starling run: command line: cluster.preset = \"moon\": expected one of local, lan, wan"},
    {"run --cluster.expect=5000",
     "starling run: command line: cluster.expect = \"5000\": expected a whole number from 0 to "
     "4096"},
    {"run --cluster.join=nowhere",
     "starling run: command line: cluster.join = \"nowhere\": \"nowhere\" has no port; expected "
     "HOST:PORT, such as 127.0.0.1:7600 or [::1]:7600"},
    {"run --join 127.0.0.1:99999",
     "starling run: command line: cluster.join = \"127.0.0.1:99999\": \"127.0.0.1:99999\" has port "
     "\"99999\"; a port is a number from 0 to 65535"},
    {"run --join 127.0.0.1:",
     "starling run: command line: cluster.join = \"127.0.0.1:\": \"127.0.0.1:\" has port \"\"; a "
     "port is a number from 0 to 65535"},
    {"run --join :7600",
     "starling run: command line: cluster.join = \":7600\": \":7600\" has no usable host; expected "
     "HOST:PORT, such as 127.0.0.1:7600 or [::1]:7600"},
    {"run --join http://127.0.0.1:7600",
     "starling run: command line: cluster.join = \"http://127.0.0.1:7600\": "
     "\"http://127.0.0.1:7600\" "
     "is not an address; expected HOST:PORT, such as 127.0.0.1:7600 or [::1]:7600"},
    {"run --listen.control=7600",
     "starling run: command line: listen.control = \"7600\": \"7600\" has no port; expected "
     "HOST:PORT, such as 127.0.0.1:7600 or [::1]:7600"},
    {"run --listen.control=127.0.0.1",
     "starling run: command line: listen.control = \"127.0.0.1\": \"127.0.0.1\" has no port; "
     "expected HOST:PORT, such as 127.0.0.1:7600 or [::1]:7600"},
    {"run --listen.control=256.0.0.1:7600",
     "starling run: command line: listen.control = \"256.0.0.1:7600\": \"256.0.0.1:7600\": "
     "\"256.0.0.1\" is no address of IPv4: expected four numbers from 0 to 255"},
    {"run --listen.control=[::g]:7600",
     "starling run: command line: listen.control = \"[::g]:7600\": \"[::g]:7600\": \"::g\" is no "
     "address of IPv6"},
    {"run --listen.advertise=0.0.0.0",
     "starling run: command line: listen.advertise = \"0.0.0.0\": is no address that others could "
     "reach; expected a host, such as 10.0.0.1"},
    {"run --listen.advertise=[fe80::1%eth0]",
     "starling run: command line: listen.advertise = \"[fe80::1%eth0]\": holds the name of an "
     "interface, which means nothing on other machines; expected a host, such as 10.0.0.1"},
    {"run --join dns:nodes",
     "starling run: command line: cluster.join = \"dns:nodes\": \"dns:nodes\" has no port; "
     "expected dns:NAME:PORT or dns:_SERVICE._tcp.NAME"},
    {"run --join dns:_nodes._udp.example",
     "starling run: command line: cluster.join = \"dns:_nodes._udp.example\": "
     "\"dns:_nodes._udp.example\" is no name of a service; expected dns:NAME:PORT or "
     "dns:_SERVICE._tcp.NAME"},
    {"run --cluster.name-server=localhost:53",
     "starling run: command line: cluster.name-server = \"localhost:53\": expected an address of "
     "IPv4 and a port, such as 127.0.0.1:53"},
    {"run --listen.control=127.0.0.1:80000",
     "starling run: command line: listen.control = \"127.0.0.1:80000\": \"127.0.0.1:80000\" has "
     "port \"80000\"; a port is a number from 0 to 65535"},
    {"run --listen.http=0.0.0.0:7680",
     "starling run: command line: listen.http = \"0.0.0.0:7680\": others can reach it; "
     "http.token-file must name a token"},
    {"run --listen.http=127.0.0.1:0 --http.token-file=none.token --listen.control=127.0.0.1:0",
     "starling run: http.token-file = \"none.token\": cannot be read"},
    {"run --listen.http=127.0.0.1:0 --http.token-file=open.token --listen.control=127.0.0.1:0",
     "starling run: http.token-file = \"open.token\": has mode 644; others must not read it: chmod "
     "600"},
    {"run --listen.http=127.0.0.1:0 --http.token-file=empty.token --listen.control=127.0.0.1:0",
     "starling run: http.token-file = \"empty.token\": holds no token"},
    {"run --http.allowed-hosts=http://a",
     "starling run: command line: http.allowed-hosts = \"http://a\": expected host names without a "
     "port, such as node.example"},
    {"run --node.seed=-1",
     "starling run: command line: node.seed = \"-1\": expected a whole number from 0 to "
     "9223372036854775807"},
    {"run --node.threads=2",
     "starling run: command line: unknown key node.threads; `starling config` lists every key"},
    {"run --node.log=loud",
     "starling run: command line: node.log = \"loud\": expected one of debug, info, warning, "
     "error, off"},
    {"run -c none.ini", "starling run: none.ini: cannot be opened; expected an INI file"},
    {"run -c folder", "starling run: folder: cannot be read; expected an INI file"},
    {"run -c junk.ini",
     "starling run: junk.ini: line 1: \"x\" is neither KEY = VALUE nor [SECTION]"},
    {"run -c noequals.ini",
     "starling run: noequals.ini: line 2: \"learning-rate 5\" is neither KEY = VALUE nor "
     "[SECTION]"},
    {"run -c section.ini",
     "starling run: section.ini: unknown key nowhere.kind; `starling config` lists every key"},
    {"run -c semicolon.ini",
     "starling run: semicolon.ini: line 3: \"batch-size = 5 ; five\": a comment begins with #, not "
     "with ;"},
    {"run -c hash.ini",
     "starling run: hash.ini: line 2: \"name = a#b\": what follows # is a comment; write a blank "
     "before it, and give a value that holds # by the environment or the command line"},
    {"run -c twice.ini", "starling run: twice.ini: eval.every is given 2 times"},
    {"run -c bracket.ini",
     "starling run: bracket.ini: line 1: \"[optim\" is neither KEY = VALUE nor [SECTION]"},
    {"run -c remark.ini",
     "starling run: remark.ini: line 1: \"; remark\": a comment begins with #, not with ;"},
    {"run -c nosection.ini",
     "starling run: nosection.ini: unknown key kind; `starling config` lists every key"},
    {"run -c quoted.ini",
     "starling run: quoted.ini: topology.kind = \"\"ring\"\": expected one of " KINDS ""},
    {"run -c", "starling run: the required argument for option '--config' is missing"},
    {"run -c ok.ini extra", "starling run: \"extra\": expected options only"},
    {"run --jion 127.0.0.1:1", "starling run: unrecognised option '--jion'; did you mean --join?"},
    {"run --learning-rate=1", "starling run: unrecognised option '--learning-rate=1'"},
    {"run -x", "starling run: unrecognised option '-x'"},
    {"up -n 0", "starling up: -n 0: expected a whole number from 1 to 1024"},
    {"up -n two", "starling up: -n two: expected a whole number from 1 to 1024"},
    {"up -n 2000", "starling up: -n 2000: expected a whole number from 1 to 1024"},
    {"up -n", "starling up: the required argument for option '--nodes' is missing"},
    {"up --nodes=3 --kepe", "starling up: unrecognised option '--kepe'; did you mean --keep?"},
    {"up -n 1 --topology.kind=torus",
     "starling up: topology.kind = \"torus\": needs at least 4 nodes; n = 1"},
    {"up -n 3 --topology.kind=hypercube",
     "starling up: topology.kind = \"hypercube\": needs a power of two as number of nodes; n = 3"},
    {"up -n 17 -c ROOT/configs/reference.ini",
     "starling up: 17 nodes: data.reference.n = 16 makes 16 problems, one a node; expected at most "
     "16 nodes, or data.reference.n = 17"},
    {"up --data.source=houses --stop.accuracy=0.9",
     "starling up: stop.accuracy = 0.9: targets that are numbers have no accuracy; expected "
     "stop.loss, stop.rounds or stop.seconds"},
    {"plan", "starling plan: the number of nodes is missing; expected -n with 1 to 4096"},
    {"plan -n 0", "starling plan: -n 0: expected a whole number from 1 to 4096"},
    {"plan -n 4 --topology.kind=rnig",
     "starling plan: command line: topology.kind = \"rnig\": expected one of " KINDS ""},
    {"plan -n 4 -c none.ini", "starling plan: none.ini: cannot be opened; expected an INI file"},
    {"plan -n 4 --json --dot", "starling plan: --json and --dot: expected one of them"},
    {"plan -n 4 --model-bytes 0",
     "starling plan: --model-bytes 0: expected a whole number from 1 to 1125899906842624"},
    {"plan -n 4 --bandwidth 10",
     "starling plan: --bandwidth, --step-time and --model-bytes: expected all three of them, or "
     "none of the first two"},
    {"plan -n 4 --bandwidth 10mbit --model-bytes 5 --step-time x",
     "starling plan: --step-time x: expected seconds above 0, up to 1000000"},
    {"simulate -n x", "starling simulate: nodes = \"x\": expected a whole number from 1 to 4096"},
    {"simulate --seed -1",
     "starling simulate: seed = \"-1\": expected a whole number from 0 to 9223372036854775807"},
    {"simulate --scenario none.txt", "starling simulate: scenario = \"none.txt\": cannot be read"},
    {"simulate --shrink",
     "starling simulate: --timeline and --shrink belong to --chaos or --scenario"},
    {"simulate --seeds 5",
     "starling simulate: seeds = \"5\": expected A..B, whole numbers from 0 with A <= B"},
    {"simulate --sim.loss=2",
     "starling simulate: command line: sim.loss = \"2\": expected a number from 0 to 1"},
    {"status --api nowhere",
     "starling status: \"nowhere\" is no address of a node; expected http://HOST:PORT"},
    {"status --api 127.0.0.1:1",
     "starling status: http://127.0.0.1:1: Connection refused; expected a running node there: "
     "start one with starling run, or name another with --api URL"},
    {"status --wach", "starling status: unrecognised option '--wach'; did you mean --watch?"},
    {"status extra", "starling status: \"extra\": expected options only"},
    {"join", "starling join: expected HOST:PORT, got 0 arguments"},
    {"join nowhere",
     "starling join: \"nowhere\" has no port; expected HOST:PORT, such as 127.0.0.1:7600 or "
     "[::1]:7600"},
    {"join dns:10.0.0.1:7600",
     "starling join: \"dns:10.0.0.1:7600\" holds an address; expected a name behind dns:, or "
     "10.0.0.1:7600 alone"},
    {"fly", "starling: unknown command \"fly\"; `starling --help` lists them"},
    {"--fly", "starling: unknown command \"--fly\"; `starling --help` lists them"},
    {"config --bogus", "starling config: unrecognised option '--bogus'"},
    {"leave now", "starling leave: \"now\": expected options only"},
    {"run --join 127.0.0.1:0",
     "starling run: command line: cluster.join = \"127.0.0.1:0\": \"127.0.0.1:0\" has port 0; "
     "expected the port of a member"},
    {"run --listen.advertise=10.0.0.1:0",
     "starling run: command line: listen.advertise = \"10.0.0.1:0\": expected a host, such as "
     "10.0.0.1, or HOST:PORT where the port outside is another than that of listen.control"},
    {"run --http.allowed-hosts=node.example:80",
     "starling run: command line: http.allowed-hosts = \"node.example:80\": expected host names "
     "without a port, such as node.example"},
    {"run --topology.knid=ring --eval.every=0",
     "starling run: command line: unknown key topology.knid; did you mean topology.kind?\ncommand "
     "line: eval.every = \"0\": expected a whole number from 1 to 1000000000"},
};

// The files that the mistakes are about, in a folder of their own, where the program runs.
std::string make_files() {
  const auto folder =
      std::filesystem::path(testing::temporary_file("x", "")).parent_path() / "mistakes";
  std::filesystem::create_directories(folder / "folder");
  const auto write = [&](const char* name, const char* text, int mode = 0644) {
    std::ofstream(folder / name) << text;
    std::filesystem::permissions(folder / name, static_cast<std::filesystem::perms>(mode));
  };
  write("semicolon.ini", "[optim]\nlearning-rate = 0.1 # fine\nbatch-size = 5 ; five\n");
  write("junk.ini", "x\n");
  write("noequals.ini", "[optim]\nlearning-rate 5\n");
  write("section.ini", "[nowhere]\nkind = 5\n");
  write("hash.ini", "[node]\nname = a#b\n");
  write("twice.ini", "[eval]\nevery=5\nevery=6\n");
  write("bracket.ini", "[optim\nmomentum=1\n");
  write("remark.ini", "; remark\n[eval]\nevery=1\n");
  write("ok.ini", "topology.kind = ring\n");
  write("nosection.ini", "kind = ring\n");
  write("quoted.ini", "[topology]\nkind = \"ring\"\n");
  write("empty.csv", "");
  write("ab.csv", "a,b\n1,2\n");
  write("aa.csv", "a,a\n1,2\n");
  write("wy.csv", "a,y\n1,x\n");
  write("y.csv", "y\n1\n");
  write("quote.csv", "a,y\n1,\"2\n");
  write("open.token", "token", 0644);
  write("empty.token", "", 0600);
  write("zero.svm", "1 0:1\n");
  write("order.svm", "1 2:1 1:1\n");
  write("three.edges", "a b c\n");
  write("self.edges", "node-0 node-0\n");
  return folder.string();
}

std::string with_root(std::string text) {
  const std::size_t at = text.find("ROOT");
  return at == std::string::npos ? text : text.replace(at, 4, STARLING_ROOT);
}

}  // namespace

TEST_CASE("Every deliberate mistake is answered word for word") {
  const std::string folder = make_files();
  CHECK(std::size(kMistakes) > 100);
  for (const Mistake& mistake : kMistakes) {
    CAPTURE(mistake.arguments);
    const testing::Outcome outcome = testing::run(with_root(mistake.arguments), folder);
    const bool is_unreachable =
        std::string(mistake.answer).find("Connection refused") != std::string::npos;
    CHECK(outcome.exit_code == (is_unreachable ? 4 : 2));
    CHECK(outcome.err == std::string(mistake.answer) + "\n");
    CHECK(outcome.out.empty());
  }
}

TEST_CASE("An address that is not of this machine is answered with those that are") {
  const testing::Outcome outcome =
      testing::run("run --security.insecure=true --listen.control=203.0.113.1:7600");
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err.starts_with(
      "starling run: listen.control = \"203.0.113.1:7600\": no address of this "
      "machine; expected one of "));
  CHECK(outcome.err.find("127.0.0.1") != std::string::npos);
}

TEST_CASE("A comment behind a value is no part of it and plan reads a configuration") {
  const std::string file = testing::temporary_file(
      "comments.ini",
      "# first\n[topology]  # section\nkind = torus # of nodes\n[optim]\nmomentum = 0.5\n");
  const testing::Outcome plan = testing::run("plan -n 16 -c " + file);
  CAPTURE(plan.err);
  CHECK(plan.exit_code == 0);
  CHECK(plan.out.find("torus, 16 nodes") != std::string::npos);
}
