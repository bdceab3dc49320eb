#!/usr/bin/env python3
"""Hooks of training frameworks, each against a double of what the framework promises its callbacks: the
frameworks are not packaged here.

    hooks_test.py

Exit code 77, and a word, where there is no python3-torch or python3-numpy.
"""
import sys
import types
import unittest
from unittest import mock

from torch_support import FakeDaemon, linear, needed, starling, torch

numpy = needed("numpy")


class Hooks(unittest.TestCase):
    def beside(self, played, count=2, rounds=2, **step):
        """What `played` returns beside a daemon that gives so many rounds, and what this was told;
        the first tensor becomes 10 at the beginning and 20 after the last round."""
        told = {"done": [], "log": []}

        def fill(trainer, value):
            for row in trainer.table[:1]:
                numbers = trainer.numbers(row["name"])
                trainer.write(row["name"], [value] * len(numbers))

        def script(daemon):
            trainer = daemon.accept()
            told["table"] = [(row["name"], row["role"]) for row in trainer.table]
            trainer.welcome()
            fill(trainer, 10)
            for _ in range(rounds):
                trainer.step(count, **step)
                while True:
                    record = trainer.any()
                    told[record["kind"]].append(record)
                    if record["kind"] == "done":
                        break
                first = trainer.table[0]["name"]
                told.setdefault("first", []).append(list(trainer.numbers(first)))
            fill(trainer, 20)
            trainer.end(model=True)
        with FakeDaemon() as daemon:
            daemon.run(script)
            return played(daemon.path), told

    # ---------------------------------------------------------------- transformers

    class Trainer:
        """As transformers.Trainer: what it calls of callbacks, in its order."""

        def __init__(self, model, loader, accumulates=1):
            self.model, self.loader, self.accumulates = model, loader, accumulates
            self.callbacks, self.seen = [], []
            self.optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

        def add_callback(self, callback):
            self.callbacks.append(callback)

        def get_train_dataloader(self):
            return self.loader

        def call(self, event, **kwargs):
            for callback in self.callbacks:
                getattr(callback, event)("args", self.state, self.control, model=self.model,
                                         optimizer=self.optimizer, **kwargs)

        def train(self):
            self.state = types.SimpleNamespace(log_history=[])
            self.control = types.SimpleNamespace(should_training_stop=False)
            loader = self.get_train_dataloader()
            self.call("on_train_begin", train_dataloader=loader)
            while not self.control.should_training_stop:
                self.call("on_epoch_begin")
                for number, batch in enumerate(loader):
                    self.seen.append(batch)
                    self.model(torch.tensor([[1.0, 3.0]])).sum().backward()
                    if (number + 1) % self.accumulates:
                        self.call("on_substep_end")
                        continue
                    self.optimizer.step()
                    self.optimizer.zero_grad()
                    self.state.log_history.append({"loss": 0.5})
                    self.call("on_step_end")
                    if self.control.should_training_stop:
                        break
                self.call("on_evaluate", metrics={"eval_loss": 2.0, "eval_accuracy": 0.75})
            self.call("on_train_end")

    def test_a_trainer_of_transformers(self):
        def played(path):
            trainer = self.Trainer(linear(), ["a", "b", "c", "d"], accumulates=2)
            self.assertIs(starling.for_transformers.patch(trainer, socket=path), trainer)
            trainer.train()
            return trainer
        trainer, told = self.beside(played, count=1, rounds=3, place=1, nodes=2)
        self.assertEqual(trainer.seen, ["b", "d", "b", "d", "b", "d"])
        self.assertEqual([done["loss"] for done in told["done"]], [0.5] * 3)
        self.assertEqual(told["log"][0]["metrics"], {"loss": 2.0, "accuracy": 0.75})
        self.assertEqual(told["first"][0], [10 - 2, 10 - 6])
        self.assertEqual(trainer.model.weight.tolist(), [[20, 20]])

    def test_an_optimizer_of_accelerate_is_unwrapped(self):
        class AcceleratedOptimizer:
            def __init__(self, optimizer):
                self.optimizer = optimizer

        def played(path):
            model = linear()
            optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
            swarm = starling.attach(model, AcceleratedOptimizer(optimizer), socket=path)
            self.assertEqual(swarm.learning_rate, 1.0)
            while swarm.step():
                pass
        _, told = self.beside(played)
        self.assertEqual([done["learning_rate"] for done in told["done"]], [1.0, 1.0])

    # ---------------------------------------------------------------- Lightning

    def test_a_trainer_of_lightning(self):
        """As lightning.pytorch.Trainer: batches end with hooks, and global_step counts the steps of
        the optimizer."""
        def played(path):
            callback = starling.for_lightning.StarlingCallback(socket=path)
            model = linear()
            trainer = types.SimpleNamespace(
                global_step=0, should_stop=False, optimizers=[torch.optim.SGD(model.parameters(), 1.0)],
                callback_metrics={"val_loss": torch.tensor(2.0), "train_loss": 9.0})
            callback.setup(trainer, model, stage="fit")
            callback.on_train_start(trainer, model)
            batches = 0
            while not trainer.should_stop:
                batches += 1
                callback.on_train_batch_start(trainer, model, "batch", batches)
                if batches % 2 == 0:
                    trainer.global_step += 1
                callback.on_train_batch_end(trainer, model, {"loss": torch.tensor(0.25)}, "batch", 0)
                callback.on_validation_end(trainer, model)
            callback.on_train_end(trainer, model)
            self.assertEqual(callback.state_dict(), {})
            return batches
        batches, told = self.beside(played)
        self.assertEqual(batches, 8)  # two rounds of two steps of two batches
        self.assertEqual([done["loss"] for done in told["done"]], [0.25, 0.25])
        self.assertEqual(told["log"][0]["metrics"], {"loss": 2.0})

    # ---------------------------------------------------------------- Keras, JAX, scikit-learn

    def test_fit_of_keras(self):
        class Model:
            """As keras.Model: weights go out and in as arrays."""

            stop_training = False

            def __init__(self):
                self.weights = [types.SimpleNamespace(name="kernel"), types.SimpleNamespace(name="bias")]
                self.values = [numpy.zeros((2, 1), "f4"), numpy.zeros(1, "f4")]
                self.copies = 0

            def get_weights(self):
                self.copies += 1
                return [value.copy() for value in self.values]

            def set_weights(self, values):
                self.values = [value.copy() for value in values]

        def played(path):
            model, callback = Model(), starling.for_keras.StarlingCallback(socket=path)
            callback.set_model(model)
            callback.set_params({"epochs": 1})
            callback.on_train_begin()
            batch = 0
            while not model.stop_training:
                callback.on_train_batch_begin(batch)
                model.values[0] += 1
                batch += 1
                callback.on_train_batch_end(batch, {"loss": 0.5})
            callback.on_test_end({"loss": 1.0, "accuracy": 0.5})
            callback.on_train_end()
            return model
        model, told = self.beside(played)
        self.assertEqual(told["table"], [("0.kernel", "averaged"), ("1.bias", "averaged")])
        self.assertEqual(told["first"], [[12, 12], [14, 14]])
        self.assertEqual(model.values[0].tolist(), [[20], [20]])
        self.assertEqual(model.copies, 3)  # at the beginning and at each exchange

    def test_a_tree_of_jax(self):
        class Frozen(numpy.ndarray):
            """As an array of JAX, which nobody writes to."""

            def __setitem__(self, *_):
                raise TypeError("JAX arrays are immutable")

        def leaves_of(tree, path=()):
            if isinstance(tree, dict):
                return [item for key in sorted(tree) for item in leaves_of(tree[key], (*path, key))]
            return [(path, tree)]

        def rebuilt(shape, leaves):
            if isinstance(shape, dict):
                return {key: rebuilt(shape[key], leaves) for key in sorted(shape)}
            return next(leaves)
        jax = types.ModuleType("jax")
        jax.numpy = types.SimpleNamespace(asarray=lambda array: numpy.array(array).view(Frozen))
        jax.tree_util = types.SimpleNamespace(
            tree_flatten_with_path=lambda tree: (leaves_of(tree), tree),
            tree_leaves=lambda tree: [leaf for _, leaf in leaves_of(tree)],
            tree_unflatten=lambda shape, leaves: rebuilt(shape, iter(leaves)),
            keystr=lambda path: "".join(f"['{key}']" for key in path))

        def played(path):
            params = {"dense": {"w": numpy.zeros(2, "f4").view(Frozen)},
                      "head": numpy.ones(1, "f4").view(Frozen)}
            node = starling.for_jax.attach(params, socket=path)
            params = node.params
            while node.is_running:
                params = node.step({**params, "dense": {"w": params["dense"]["w"] + 1}}, loss=0.5)
            node.close()
            return params
        with mock.patch.dict(sys.modules, {"jax": jax}):
            params, told = self.beside(played)
        self.assertEqual([name for name, _ in told["table"]], ["['dense']['w']", "['head']"])
        self.assertEqual(told["first"], [[12, 12], [14, 14]])
        self.assertEqual(params["dense"]["w"].tolist(), [20, 20])

    def test_estimators_of_scikit_learn(self):
        class Linear:
            """As SGDClassifier: partial_fit makes its arrays, and replaces one of them."""

            def partial_fit(self, x, y, classes=None):
                del y
                self.classes_ = classes
                if not hasattr(self, "coef_"):
                    self.coef_, self.intercept_ = numpy.zeros((1, 2)), numpy.zeros(1)
                self.coef_ = self.coef_ + len(x)
                return self

        class Layers(Linear):
            """As MLPClassifier: lists of arrays, and the loss of the last step."""

            loss_ = 0.5

            def partial_fit(self, x, y, classes=None):
                if not hasattr(self, "coefs_"):
                    self.coefs_, self.intercepts_ = [numpy.zeros(2), numpy.zeros(1)], [numpy.zeros(2)]
                self.coefs_[0] += len(x)

        for kind, name in ((Linear, "coef_"), (Layers, "coefs_.0")):
            def played(path, kind=kind):
                node = starling.for_sklearn.attach(kind(), [[0, 0]], [0], classes=[0, 1], socket=path)
                while node.partial_fit([[1, 2], [3, 4]], [0, 1]):
                    pass
                node.close()
                return node.estimator
            estimator, told = self.beside(played)
            self.assertEqual(told["table"][0][0], name)
            self.assertEqual(told["first"], [[14, 14], [18, 18]])
            self.assertEqual([done["samples"] for done in told["done"]], [4, 4])
            first = estimator.coef_[0] if kind is Linear else estimator.coefs_[0]
            self.assertEqual(first.tolist(), [20, 20])


class Optimizers(unittest.TestCase):
    def test_a_hook_of_pytorch_2_corrects_where_step_itself_is_replaced(self):
        """As GradScaler and Accelerate do with the optimizer's step."""
        class Hooked(torch.optim.SGD):
            hooks = []

            def register_step_pre_hook(self, hook):
                self.hooks.append(hook)
                return types.SimpleNamespace(remove=lambda: self.hooks.remove(hook))

            def step(self, *arguments, **options):
                for hook in self.hooks:
                    changed = hook(self, arguments, options)
                    arguments, options = changed or (arguments, options)
                return super().step(*arguments, **options)
        model = linear()
        optimizer = Hooked(model.parameters(), lr=1.0)

        def closure():
            optimizer.zero_grad()
            model(torch.tensor([[1.0, 3.0]])).sum().backward()

        def script(daemon):
            trainer = daemon.accept()
            trainer.welcome()
            trainer.write("weight", [10, -10], "correction")
            trainer.step(3, corrects=True)
            trainer.done()
            trainer.end()
        with FakeDaemon() as daemon:
            daemon.run(script)
            swarm = starling.attach(model, optimizer, socket=daemon.path)
            optimizer.step = types.MethodType(Hooked.step, optimizer)
            closure()
            optimizer.step()
            swarm.step()
            optimizer.step(closure)
            swarm.step()
            optimizer.step(closure=closure)
            swarm.step()
        self.assertEqual(model.weight.tolist(), [[1 - 33, 2 + 21]])
        self.assertEqual(optimizer.hooks, [])


if __name__ == "__main__":
    unittest.main()
