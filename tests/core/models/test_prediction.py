"""From inputs to logits: batches without a rest of one case, batch statistics, and what is refused."""

import pytest
import torch
from tiny_training import same_bits, tiny_data, tiny_model

from l2d_core.models.prediction import batch_sizes, predict


@pytest.mark.parametrize(
    ("num_cases", "batch_size", "sizes"),
    [
        (50, 16, [13, 13, 12, 12]),
        (33, 16, [11, 11, 11]),
        (17, 16, [9, 8]),
        (16, 16, [16]),
        (3, 2, [3]),
        (5, 2, [3, 2]),
        (2, 256, [2]),
        (1, 16, [1]),
        (3, 1, [3]),
    ],
)
def test_batches_are_of_nearly_one_size_and_none_is_of_one_case(num_cases, batch_size, sizes):
    assert batch_sizes(num_cases, batch_size) == sizes


def test_predictions_with_batch_statistics_leave_the_model_as_it_is():
    model, before = tiny_model(), tiny_model()
    inputs = tiny_data().inputs
    own = predict(model, inputs, batch_size=50, device="cpu", batch_statistics=True)
    usual = predict(model, inputs, batch_size=50, device="cpu")
    assert same_bits(model, before)
    assert model.training
    assert model[1].track_running_stats
    assert not torch.allclose(own, usual)


def test_predictions_are_float32_on_the_cpu_and_do_not_depend_on_the_batches():
    model, inputs = tiny_model(dropout=0.5), tiny_data().inputs
    whole = predict(model, inputs, batch_size=50, device="cpu")
    parts = predict(model, inputs, batch_size=7, device="cpu")
    assert whole.dtype == torch.float32
    assert whole.shape == (50, 4)
    torch.testing.assert_close(whole, parts)
    assert predict(model, inputs[:1], batch_size=8, device="cpu").shape == (1, 4)


@pytest.mark.parametrize(("inputs", "batch_size"), [(torch.zeros(0, 3, 8, 8), 4), (torch.zeros(2, 3, 8, 8), 0)])
def test_no_cases_or_no_batch_size_are_refused(inputs, batch_size):
    with pytest.raises(ValueError, match="there must be cases and a batch_size of at least 1"):
        predict(tiny_model(), inputs, batch_size=batch_size, device="cpu")


def test_a_precision_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="precision must be one of 'bfloat16', 'float32'; got 'float16'"):
        predict(tiny_model(), torch.zeros(2, 3, 8, 8), batch_size=4, device="cpu", precision="float16")
