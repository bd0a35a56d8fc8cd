"""The proximal term of the example's devices (FedProx), against its formula."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest

from tests.contracts.test_gates import ROOT


@pytest.fixture(scope="module")
def example():
    place = ROOT / "examples/federated/with_numpy.py"
    spec = importlib.util.spec_from_file_location("federated_example", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Samples(SimpleNamespace):
    def __len__(self):
        return len(self.labels)


@pytest.fixture
def samples():
    draw = np.random.default_rng(1)
    return Samples(pixels=draw.random((24, 64)), labels=draw.integers(0, 10, 24))


@pytest.fixture
def beginning():
    draw = np.random.default_rng(2)
    shapes = {
        "hidden.weight": (16, 64), "hidden.bias": (16,),
        "output.weight": (10, 16), "output.bias": (10,),
    }  # fmt: skip
    return {name: 0.1 * draw.standard_normal(shape) for name, shape in shapes.items()}


def test_a_step_adds_the_distance_from_the_start_to_the_slope(example, samples, beginning):
    """Two epochs of one batch each: the first step is at the start, where the term is 0."""
    mu, rate = 3.0, example.RATE
    first = example.gradients(beginning, samples.pixels, samples.labels)
    middle = {name: beginning[name] - rate * first[name] for name in beginning}
    second = example.gradients(middle, samples.pixels, samples.labels)
    trained = example.train(beginning, samples, epochs=2, seed=0, proximal=mu)
    for name in beginning:
        pull = mu * (middle[name] - beginning[name])
        speed = example.MOMENTUM * first[name] + second[name] + pull
        np.testing.assert_allclose(trained[name], middle[name] - rate * speed, rtol=1e-9)


def test_a_larger_factor_keeps_devices_nearer_to_the_start(example, samples, beginning):
    def distance(mu):
        trained = example.train(beginning, samples, epochs=10, seed=0, proximal=mu)
        return sum(float(((trained[name] - beginning[name]) ** 2).sum()) for name in beginning)

    distances = [distance(mu) for mu in (0.0, 0.3, 1.0, 3.0)]
    assert distances == sorted(distances, reverse=True)
    assert len(set(distances)) == 4
