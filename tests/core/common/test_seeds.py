"""One seed, a generator for each purpose: reproducible for years, and none leans on another."""

import numpy as np
import pytest
import torch

from l2d_core.common.seeds import numpy_generator, torch_generator

PURPOSES = ["split", "subset", "noise", "images", "answers", "test answers", "weights", "batches", "labels"]


def test_the_streams_are_those_of_the_first_version():
    assert numpy_generator(0, "split").integers(10**9, size=3).tolist() == [267622368, 526509260, 233304207]
    assert torch.randint(10**9, (3,), generator=torch_generator(7, "answers")).tolist() == [
        511094635,
        744319621,
        708972322,
    ]


def test_the_same_seed_and_purpose_give_the_same_stream_and_a_new_generator_each_time():
    first = numpy_generator(3, "split").random(5)
    np.testing.assert_array_equal(numpy_generator(3, "split").random(5), first)
    draws = torch.rand(5, generator=torch_generator(3, "batches"))
    assert torch.equal(torch.rand(5, generator=torch_generator(3, "batches")), draws)


def test_drawing_more_for_one_purpose_leaves_the_others_alone():
    expected = numpy_generator(0, "split").random(3)
    greedy = numpy_generator(0, "noise")
    greedy.random(77)
    np.testing.assert_array_equal(numpy_generator(0, "split").random(3), expected)


def test_no_two_seeds_or_purposes_share_a_stream():
    pairs = [(seed, purpose) for seed in range(300) for purpose in PURPOSES]
    # torch's CPU generator uses the lower 32 bits of its seed alone.
    states = {torch_generator(seed, purpose).initial_seed() % 2**32 for seed, purpose in pairs}
    assert len(states) == len(pairs)
    draws = {int(numpy_generator(seed, purpose).integers(2**63)) for seed, purpose in pairs}
    assert len(draws) == len(pairs)


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed, purpose: numpy_generator(seed, purpose).standard_normal(4000),
        lambda seed, purpose: torch.randn(4000, generator=torch_generator(seed, purpose)).numpy(),
    ],
    ids=["numpy", "torch"],
)
def test_streams_of_neighbouring_seeds_and_of_other_purposes_are_uncorrelated(draw):
    streams = np.stack([draw(seed, purpose) for seed in (0, 1, 2) for purpose in PURPOSES])
    correlation = np.corrcoef(streams) - np.eye(len(streams))
    assert np.abs(correlation).max() < 5 / 4000**0.5  # five standard errors


def test_a_seed_may_be_as_large_as_wanted():
    seeds = (0, 1, 2**64, 2**64 + 1, 2**70)
    assert len({numpy_generator(seed, "split").random() for seed in seeds}) == 5
    assert len({torch_generator(seed, "split").initial_seed() for seed in seeds}) == 5


@pytest.mark.parametrize("make", [numpy_generator, torch_generator])
def test_a_negative_seed_is_refused(make):
    with pytest.raises(ValueError, match="seed must be at least 0, got -1"):
        make(-1, "split")
