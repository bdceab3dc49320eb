#!/usr/bin/env python3
"""Every example runs, alone and beside a daemon, on small data of the real formats.

    examples_test.py C_LINEAR

C_LINEAR is clients/python/examples/c_linear.c, compiled. Exit code 77, and a word, where
python3-numpy or python3-torch is not installed.
"""
import gzip
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fake_daemon import DEADLINE_S, FakeDaemon, needed  # noqa: E402

needed("numpy")
torch = needed("torch")

EXAMPLES = Path(__file__).resolve().parents[2] / "clients" / "python" / "examples"
C_LINEAR = sys.argv[1]
IMAGES = 60


def write_mnist(folder):
    for prefix in ("train", "t10k"):
        images = struct.pack(">IIII", 2051, IMAGES, 28, 28) + random.randbytes(IMAGES * 784)
        labels = struct.pack(">II", 2049, IMAGES) + bytes(k % 10 for k in range(IMAGES))
        (folder / f"{prefix}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
        (folder / f"{prefix}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    return folder


def write_plays(folder):
    speeches = [f"{name}:\nWords, words, words {number}." for number in range(900)
                for name in ("First Citizen", "All", "HAMLET")]
    path = folder / "plays.txt.gz"
    path.write_bytes(gzip.compress("\n\n".join(speeches).encode()))
    return path


def write_adults(folder):
    for name in ("a9a.gz", "a9a.t.gz"):
        lines = [f"{'+1' if k % 3 else '-1'} {k % 100 + 1}:1 123:1 " for k in range(200)]
        (folder / name).write_bytes(gzip.compress("\n".join(lines).encode()))
    return folder


def write_houses(folder):
    rows = [f"{k},{k * k % 17},{3 * k},NEAR BAY" for k in range(50)]
    path = folder / "houses.csv"
    path.write_text("\n".join(["age,rooms,value,place", *rows]), encoding="utf-8")
    return path


PYTHON = {"mnist_cnn.py": write_mnist, "char_gpt.py": write_plays,
          "numpy_logistic.py": write_adults}
COMMANDS = [([sys.executable, str(EXAMPLES / name), "--every", "2"], data)
            for name, data in PYTHON.items()]
COMMANDS += [([*COMMANDS[0][0], "--two-digits", "--batch-norm"], write_mnist),
             ([*COMMANDS[1][0], "--muon=0.02"], write_plays),
             ([C_LINEAR], write_houses),
             ([sys.executable, str(EXAMPLES / "mnist_ddp.py"), "--batch=4"], write_mnist),
             ([sys.executable, str(EXAMPLES / "mnist_unequal.py"), "--batch=4", "--slow=2"],
              write_mnist),
             ([sys.executable, str(EXAMPLES / "lora.py"), "--before=3", "--batch=4"], write_mnist)]


class Examples(unittest.TestCase):
    def setUp(self):
        random.seed(1)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def printed(self, command, data, *arguments, socket="/nowhere"):
        done = subprocess.run([*command, "--data", str(data(self.folder)), *arguments],
                              env={**os.environ, "STARLING_SOCKET": socket}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_each_runs_alone(self):
        for command, data in COMMANDS:
            with self.subTest(command):
                self.assertRegex(self.printed(command, data, "--alone", "3"), "accuracy|held|rmse")

    def test_each_trains_beside_a_daemon_until_the_end(self):
        for command, data in COMMANDS:
            def script(daemon):
                trainer = daemon.accept()
                trainer.welcome()
                before = trainer.region("values").tobytes()
                trainer.step(3, place=1, nodes=2)
                told = trainer.next_but_log()
                self.assertEqual((told["kind"], told["steps"]), ("done", 3))
                self.assertIn("loss", told)
                self.assertNotEqual(trainer.region("values").tobytes(), before)
                trainer.end("goal reached")
            with self.subTest(command), FakeDaemon() as daemon:
                daemon.run(script)
                printed = self.printed(command, data, socket=daemon.path)
                self.assertIn("goal reached", printed)

    def test_what_mnist_saves_is_a_model_of_its_network(self):
        saved = self.folder / "saved.pt"
        self.printed(COMMANDS[3][0], write_mnist, "--alone", "3", f"--save={saved}")
        state = torch.load(saved)
        self.assertEqual(tuple(state["conv1.weight"].shape), (16, 1, 3, 3))
        self.assertEqual(int(state["norm1.num_batches_tracked"]), 3)

    def test_lora_exchanges_its_second_factors_and_warns_where_both_are_trained(self):
        command, data = COMMANDS[-1]
        for options, count in (([], 3), (["--both"], 6)):
            rows = []

            def script(daemon, rows=rows):
                trainer = daemon.accept()
                rows.extend(trainer.rows)
                trainer.welcome()
                trainer.step()
                trainer.done()
                trainer.end("goal reached")
            with FakeDaemon() as daemon:
                daemon.run(script)
                printed = self.printed([*command, *options], data, socket=daemon.path)
            averaged = [row["name"] for row in rows if row["role"] == "averaged"]
            self.assertEqual(len(averaged), count)
            self.assertEqual(["lora_B" in name for name in averaged].count(True), 3)
            self.assertEqual("not the mean of their products" in printed, bool(options))

    def test_sites_hold_unequal_shares_of_other_digits_and_say_how_many_samples(self):
        command, data = COMMANDS[-2]
        for site, count in enumerate((6, 12, 18, 24)):
            def script(daemon, count=count):
                trainer = daemon.accept()
                self.assertEqual(trainer.hello["samples"], count)
                trainer.welcome()
                trainer.step(2)
                trainer.done()
                trainer.end("goal reached")
            with self.subTest(site), FakeDaemon() as daemon:
                daemon.run(script)
                printed = self.printed([*command, f"--site={site}"], data, socket=daemon.path)
                self.assertIn(f"{count} images, 2 steps", printed)

    def test_none_is_longer_than_120_lines(self):
        for path in EXAMPLES.iterdir():
            if path.suffix in (".py", ".c"):
                lines = path.read_text(encoding="utf-8").count("\n")
                self.assertLessEqual(lines, 120, path.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
