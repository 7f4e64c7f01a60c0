"""Kim's network for sentences, against a slow twin."""

import pytest
import torch

from l2d_core.models import make_model


def test_the_network_is_the_largest_response_of_each_filter_and_a_last_layer():
    model = make_model("text_cnn", 4, (6, 9), seed=0, options={"filters": 5}).eval()
    inputs = torch.randn(3, 6, 9, generator=torch.Generator().manual_seed(1))
    responses = []
    for layer, width in zip(model[0].filters, (3, 4, 5), strict=True):
        weight, bias = layer.weight.detach(), layer.bias.detach()
        places = [
            [[max(0.0, float((weight[f] * case[:, t : t + width]).sum() + bias[f])) for f in range(5)]]
            for case in inputs
            for t in range(9 - width + 1)
        ]
        responses.append(torch.tensor(places).view(3, -1, 5).amax(dim=1))
    wanted = torch.cat(responses, dim=1) @ model[2].weight.T + model[2].bias
    torch.testing.assert_close(model(inputs), wanted, rtol=1e-4, atol=1e-5)


def test_a_sentence_may_stand_anywhere_among_empty_words():
    model = make_model("text_cnn", 4, (6, 20), seed=0).eval()
    words = torch.randn(6, 5)
    places = torch.zeros(3, 6, 20)
    for row, start in enumerate((5, 8, 10)):
        places[row, :, start : start + 5] = words
    logits = model(places)
    torch.testing.assert_close(logits[0], logits[1])
    torch.testing.assert_close(logits[0], logits[2])


def test_it_has_as_many_parameters_as_kims_and_drops_out_in_training_alone():
    model = make_model("text_cnn", 4, (100, 40), seed=0)
    assert sum(p.numel() for p in model.parameters()) == 100 * (100 * (3 + 4 + 5) + 3) + 300 * 4 + 4
    inputs = torch.randn(2, 100, 40)
    assert not torch.equal(model.train()(inputs), model(inputs))
    assert torch.equal(model.eval()(inputs), model(inputs))


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((3, 32, 32), {}, r"image_shape must be \(D, T\)"),
        ((100, 4), {}, "T >= 5 words"),
        ((100, 9), {"filters": 0}, "filters must be at least 1"),
        ((100, 9), {"dropout": 1.0}, "dropout"),
    ],
)
def test_shapes_and_options_that_do_not_do_are_refused(shape, options, message):
    with pytest.raises(ValueError, match=message):
        make_model("text_cnn", 4, shape, seed=0, options=options)
