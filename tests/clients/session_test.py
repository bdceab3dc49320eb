#!/usr/bin/env python3
"""A session with a daemon, from finding its socket to the end, with arrays of numpy.

    session_test.py

Exit code 77, and a word, where there is no python3-numpy.
"""
import os
import sys
import threading
import unittest
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients" / "python"))
from fake_daemon import FakeDaemon, needed  # noqa: E402

numpy = needed("numpy")

import starling  # noqa: E402


def vector(*values):
    return {"w": numpy.array(values, dtype="float64")}


def attached(script, tensors=None, **options):
    daemon = FakeDaemon()
    daemon.run(script)
    return daemon, starling.attach(tensors=tensors or vector(1, 2), socket=daemon.path, **options)


class Rounds(unittest.TestCase):
    def test_every_count_steps_are_one_exchange(self):
        told = []

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome(node="n3", algorithm="gt")
            for count in (1, 3):
                trainer.step(count, place=2, nodes=5)
                told.append(trainer.done())
            self.assertEqual(trainer.progress, 4)
            self.assertEqual(list(trainer.numbers("w")), [5, 6])
            trainer.end("goal reached")
        daemon, swarm = attached(script)
        with daemon:
            status = swarm.status
            self.assertEqual((status.node, status.algorithm, status.place, status.nodes),
                             ("n3", "gt", 2, 5))
            going = []
            for number in range(4):
                swarm.tensors["w"] += 1
                going.append(swarm.step(loss=number, samples=8))
        self.assertEqual(going, [True, True, True, False])
        self.assertEqual([one["steps"] for one in told], [1, 3])
        self.assertEqual([one["samples"] for one in told], [8, 24])
        self.assertEqual([one["loss"] for one in told], [0, 2])
        self.assertEqual(swarm.end_reason, "goal reached")
        self.assertEqual((swarm.status.exchanges, swarm.status.steps), (2, 4))
        self.assertEqual(swarm.status.copied_bytes, 0)
        self.assertFalse(swarm.step())
        self.assertEqual(swarm.tensors["w"].tolist(), [5, 6])

    def test_the_end_of_the_run_ends_the_steps_at_hand(self):
        told = []

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step(10**9)
            self.assertEqual(trainer.hear("log")["metrics"], {"loss": 1})
            trainer.tell_over()
            told.append(trainer.done())
            trainer.write("w", [7, 8])
            trainer.end(model=True)
        daemon, swarm = attached(script)
        with daemon:
            swarm.step()
            self.assertFalse(swarm.is_due)
            swarm.log(loss=1)
            while swarm.step():
                pass
        self.assertEqual(told[0]["steps"], swarm.status.steps)
        self.assertLess(told[0]["steps"], 10**9)
        self.assertEqual(swarm.tensors["w"].tolist(), [7, 8])

    def test_a_run_that_is_over_already_ends_the_loop(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.write("w", [7, 8])
            trainer.end(model=True)
        daemon, swarm = attached(script)
        with daemon:
            self.assertEqual(list(swarm.batches([1, 2])), [])
            self.assertFalse(swarm.step())
            self.assertEqual(swarm.tensors["w"].tolist(), [7, 8])

    def test_the_hello_says_what_the_trainer_is(self):
        hellos = []

        def script(daemon):
            trainer = daemon.accept()
            hellos.append((trainer.hello, trainer.table))
            trainer.welcome()
            trainer.end()
        tensors = {**vector(1), "seen": numpy.array(3, dtype="int32"), "none": numpy.zeros((0, 2))}
        daemon, _ = attached(script, tensors, samples=12, roles={"w": "statistic"})
        with daemon:
            daemon.finish()
        (hello, table), = hellos
        self.assertEqual((hello["client"], hello["mode"], hello["samples"], hello["corrects"],
                          hello["evaluates"]), ("python 0.1", "loop", 12, False, False))
        self.assertNotIn("gradient", hello)
        self.assertEqual((hello["shifts"], hello["steps"], hello["optimizer"]), (True, "", ""))
        self.assertNotIn("learning_rate", hello)
        self.assertEqual([(row["name"], row["shape"], row["dtype"], row["role"]) for row in table],
                         [("w", [1], "f64", "statistic"), ("seen", [], "i64", "donor")])

    def test_a_correction_is_added_where_the_daemon_asks(self):
        def script(daemon):
            trainer = daemon.accept()
            self.assertTrue(trainer.hello["corrects"])
            trainer.welcome()
            trainer.write("w", [10, -10], "correction")
            trainer.step(corrects=True)
            trainer.done()
            trainer.step()
            trainer.done()
            trainer.end()
        daemon, swarm = attached(script, corrects=True)
        with daemon:
            for expected in ([11, -9], [1, 1]):
                gradients = {"w": numpy.ones(2)}
                self.assertIs(swarm.correct(gradients), gradients)
                self.assertEqual(gradients["w"].tolist(), expected)
                swarm.step()

    def test_the_mean_of_corrected_gradients_is_told_where_the_daemon_asks(self):
        told = []

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.write("w", [10, -10], "correction")
            trainer.write("w", [77, 77], "gradient")  # of an earlier round
            trainer.step(2, corrects=True, tracks=True)
            trainer.done()
            told.append(list(trainer.numbers("w", "gradient")))
            trainer.end()
        daemon, swarm = attached(script, corrects=True)
        with daemon:
            for gradient in ([1.0, 1.0], [3.0, 5.0]):
                swarm.correct({"w": numpy.array(gradient)})
                swarm.step()
        self.assertEqual(told, [[12, -7]])

    def test_log_leaves_out_what_is_not_finite(self):
        told = []

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            told.append(trainer.hear("log")["metrics"])
            trainer.done()
            trainer.end()
        daemon, swarm = attached(script)
        with daemon:
            swarm.log(accuracy=0.5, loss=float("inf"), rmse=numpy.float32(2))
            swarm.log(loss=float("nan"))
            swarm.step()
        self.assertEqual(told, [{"accuracy": 0.5, "rmse": 2}])

    def test_a_number_that_is_not_finite_is_refused(self):
        told = []

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            for values in ([1e308, 1e308], [1, 2]):
                trainer.write("w", values)
                trainer.step()
                told.append(trainer.done().get("refusal"))
            trainer.end()
        daemon, swarm = attached(script)
        with daemon, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            swarm.step()  # the sum overflows and every number is finite
            swarm.tensors["w"][1] = numpy.inf
            swarm.step()
        self.assertEqual(told, [None, "w is not finite after 1 steps"])

    def test_batches_are_those_of_this_place_and_repeat_until_the_end(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step(5, place=1, nodes=3)
            self.assertEqual(trainer.done()["samples"], 20)
            trainer.end()
        daemon, swarm = attached(script)
        seen = []
        with daemon:
            for batch in swarm.batches([numpy.full((4, 1), number) for number in range(6)]):
                seen.append(int(batch[0, 0]))
                swarm.step()
        self.assertEqual(seen, [1, 4, 1, 4, 1])

    def test_an_iterator_and_a_loader_of_nothing_are_refused(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step(1, place=1, nodes=2)
            trainer.done()
            trainer.end()
        daemon, swarm = attached(script)
        with daemon:
            with self.assertRaisesRegex(ValueError, "only once"):
                next(swarm.batches(iter([1])))
            with self.assertRaisesRegex(ValueError, "no batch"):
                next(swarm.batches([]))
            self.assertEqual(next(swarm.batches(["only"], own=True)), "only")
            with self.assertWarnsRegex(RuntimeWarning, "holds no batch"):
                self.assertEqual(next(swarm.batches(["only"])), "only")
            swarm.step()


class Ends(unittest.TestCase):
    def test_close_says_so_and_an_exception_does_not(self):
        def script(daemon):
            for in_order in (True, False):
                trainer = daemon.accept()
                trainer.welcome()
                trainer.step()
                if in_order:
                    trainer.hear("close")
                trainer.hear_nothing_more()
        with FakeDaemon() as daemon:
            daemon.run(script)
            with starling.attach(tensors=vector(1), socket=daemon.path) as swarm:
                pass
            swarm.close()
            self.assertEqual(swarm.end_reason, "closed by the trainer")
            self.assertFalse(swarm.step())
            with self.assertRaises(KeyError):
                with starling.attach(tensors=vector(1), socket=daemon.path):
                    raise KeyError

    def test_a_refusal_gives_the_reason_of_the_daemon(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.say("refused", reason="a trainer is attached already")
            trainer.kill()
        with FakeDaemon() as daemon:
            daemon.run(script)
            with self.assertRaisesRegex(starling.Refused, "a trainer is attached already"):
                starling.attach(tensors=vector(1), socket=daemon.path, wait=True)

    def test_a_session_that_the_daemon_ends_by_a_refusal_says_why(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            trainer.say("refused", reason="the schema differs")
            trainer.kill()
        daemon, swarm = attached(script)
        with daemon:
            daemon.finish()  # so that `done` finds a closed socket
            with self.assertRaisesRegex(starling.Refused, "the schema differs"):
                swarm.step()

    def test_the_last_word_of_a_daemon_that_leaves_records_unread_is_heard(self):
        from starling.wire import Connection, Deadline
        with FakeDaemon() as daemon:
            connection = Connection(daemon.path, Deadline())
            other = daemon.accept_raw()
            connection.send({"kind": "log"})
            other.send(b'{"kind": "end"}')
            other.close()
            self.assertEqual(connection.receive(Deadline()), {"kind": "end"})
            with self.assertRaises(starling.DaemonGone):
                connection.receive(Deadline())
            connection.close()

    def test_a_daemon_of_another_version_is_refused(self):
        with FakeDaemon() as daemon:
            daemon.run(lambda daemon: daemon.accept().welcome(version=2))
            with self.assertRaisesRegex(starling.Refused, "version 2 .* version 1"):
                starling.attach(tensors=vector(1), socket=daemon.path)

    def test_nonsense_of_the_daemon_is_told(self):
        for kind, fields in (("gradient", {}), ("step", {"count": 0}), ("step", {"count": "many"})):
            def script(daemon):
                trainer = daemon.accept()
                trainer.welcome()
                trainer.say(kind, **fields)
            with self.subTest(kind), FakeDaemon() as daemon:
                daemon.run(script)
                with self.assertRaisesRegex(starling.Garbled, "expected step"):
                    starling.attach(tensors=vector(1), socket=daemon.path)

    def test_a_child_of_the_trainer_does_not_hold_the_connection(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            trainer.hear_nothing_more()
        daemon, swarm = attached(script)
        with daemon:
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(writing)
                os.read(reading, 1)
                os._exit(0)
            swarm._session.drop()
            daemon.finish()
            os.write(writing, b"x")
            os.waitpid(child, 0)
            os.close(reading)
            os.close(writing)

    def test_the_rate_keeps_its_proportion_to_the_nodes(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            for nodes in (2, 3):
                trainer.step(nodes=nodes)
                trainer.done()
            trainer.end()
        daemon, swarm = attached(script)
        with daemon:
            scales = [swarm.lr_scale]
            swarm.step()
            scales.append(swarm.lr_scale)
            swarm.step()
        self.assertEqual(scales, [1, 1.5])

    def test_what_a_child_writes_stays_in_the_child(self):
        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            self.assertEqual(list(trainer.numbers("w")), [1, 2])
            trainer.done()
            trainer.end()
        daemon, swarm = attached(script)
        with daemon:
            child = os.fork()
            if child == 0:
                swarm.tensors["w"] += 1000
                os._exit(0 if list(swarm.tensors["w"]) == [1001, 1002] else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(list(swarm.tensors["w"]), [1, 2])
            swarm.step()

    def test_two_threads_at_once_are_refused(self):
        second = threading.Event()

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.step()
            trainer.done()
            second.wait(60)
            trainer.end()
        daemon, swarm = attached(script)
        with daemon:
            first = threading.Thread(target=swarm.step)
            first.start()
            while not swarm._busy.locked():
                pass
            with self.assertRaisesRegex(starling.Error, "two threads"):
                swarm.step()
            second.set()
            first.join()


class Arguments(unittest.TestCase):
    def test_wrong_arguments_are_told_before_anything_is_sent(self):
        for error, text, options in (
                (TypeError, "either a torch module or tensors", {}),
                (TypeError, "either a torch module or tensors", {"model": 1, "tensors": {}}),
                (TypeError, "tensor w holds complex128", {"tensors": {"w": [1j]}}),
                (ValueError, "there is no tensor", {"tensors": {}}),
                (ValueError, "holds integers", {"tensors": {"w": [1]}, "roles": {"w": "averaged"}}),
                (ValueError, "none of", {"tensors": {"w": [1.0]}, "roles": {"w": "mean"}})):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                starling.attach(socket="/nowhere", **options)

    def test_a_tree_of_arrays_is_refused_with_the_key_and_what_to_do(self):
        tree = {"head": {"dense": {"w": numpy.zeros(2)}}}
        with self.assertRaises(TypeError) as refused:
            starling.attach(tensors=tree, socket="/nowhere")
        self.assertIn("tensors['head'] is a dict", str(refused.exception))
        self.assertIn("{\"head.dense.w\": tensors['head']['dense']['w'], ...}", str(refused.exception))
        self.assertIn("starling.for_jax.attach(params)", str(refused.exception))
        with self.assertRaisesRegex(TypeError, "tensors=.name: array."):
            starling.attach(vector(1), socket="/nowhere")


class Alone(unittest.TestCase):
    def test_the_loop_alone_takes_its_steps_and_ends(self):
        with starling.alone(steps=3) as swarm:
            seen = []
            for batch in swarm.batches([1, 2]):
                seen.append(batch)
                swarm.step(loss=1.0)
        self.assertEqual(seen, [1, 2, 1])


if __name__ == "__main__":
    unittest.main()
