"""Weights in a file: the network comes back, in half the room, and other files are refused."""

import json
from dataclasses import asdict, replace

import pytest
import torch
from made_runs import NETWORK
from safetensors.torch import load as load_tensors
from safetensors.torch import save, save_file

from l2d_core.models import MODELS
from l2d_core.models.small_resnet import small_resnet
from l2d_core.models.weights import encode_weights, halve_precision, load_weights, to_eight_bits

TEN_CLASSES = replace(
    NETWORK, model="small_resnet", image_shape=(3, 32, 32), class_names=tuple("abcdefghij"), options={}
)


@pytest.fixture
def fetching(monkeypatch):
    """The name of a network that would fetch weights where it is asked for pretrained ones, which it must not be."""

    def make(num_outputs, image_shape, *, pretrained=False):
        assert not pretrained
        return small_resnet(num_outputs, image_shape)

    monkeypatch.setitem(MODELS, "fetching", make)
    return "fetching"


def written(tmp_path, content):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    return path


def test_a_network_comes_back_bit_for_bit_with_what_it_is(tmp_path):
    model = NETWORK.build(seed=3)
    loaded, network = load_weights(written(tmp_path, encode_weights(model, NETWORK)))
    assert network == NETWORK
    assert not loaded.training
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name


def test_halved_weights_take_half_the_room_and_lose_nothing_more(tmp_path):
    model = NETWORK.build()
    whole = len(encode_weights(model, NETWORK))
    halve_precision(model)
    content = encode_weights(model, NETWORK)
    assert len(content) < 0.51 * whole
    loaded, _ = load_weights(written(tmp_path, content))
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
        assert loaded.state_dict()[name].dtype == tensor.dtype


def test_halving_rounds_filters_and_leaves_the_numbers_of_channels_alone():
    model = NETWORK.build()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model[0][1].running_var.fill_(1e-9)  # half precision would make it 0
    model[0][1].weight.data.fill_(1 / 3)
    halve_precision(model)
    after = model.state_dict()
    assert torch.equal(after["0.0.weight"], before["0.0.weight"].half().float())
    assert not torch.equal(after["0.0.weight"], before["0.0.weight"])
    assert float(after["0.1.running_var"][0]) == pytest.approx(1e-9)
    assert float(after["0.1.weight"][0]) == pytest.approx(1 / 3, abs=1e-8)


def test_eight_bits_take_a_quarter_of_the_room_and_come_back_as_rounded(tmp_path):
    model = small_resnet(11, (3, 32, 32))
    whole, before = len(encode_weights(model, TEN_CLASSES)), {k: v.clone() for k, v in model.state_dict().items()}
    halve_precision(model)
    to_eight_bits(model)
    content = encode_weights(model, TEN_CLASSES)
    assert len(content) < 0.3 * whole
    loaded, _ = load_weights(written(tmp_path, content))
    large = 0
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
        assert loaded.state_dict()[name].dtype == tensor.dtype
        if tensor.ndim < 2 or tensor.numel() < 65_536:
            assert torch.equal(tensor, before[name].half().to(tensor.dtype) if tensor.ndim > 1 else before[name]), name
            continue
        large += 1
        channels = before[name].flatten(1)
        step = channels.abs().amax(dim=1, keepdim=True) / 127
        assert ((tensor.flatten(1) - channels).abs() <= (0.501 + 127 * 2**-11) * step).all(), name
    assert large >= 3


def test_a_channel_of_zeros_stays_zero_in_eight_bits(tmp_path):
    model = small_resnet(11, (3, 32, 32))
    filters = max(model.parameters(), key=torch.numel)
    filters.data[0] = 0
    to_eight_bits(model)
    loaded, _ = load_weights(written(tmp_path, encode_weights(model, TEN_CLASSES)))
    assert (max(loaded.parameters(), key=torch.numel)[0] == 0).all()


def test_weights_too_large_for_half_precision_stay_as_they_are():
    model = NETWORK.build()
    with torch.no_grad():
        model[0][0].weight[0, 0, 0, 0] = 70_000.3
    halve_precision(model)
    assert float(model[0][0].weight.detach()[0, 0, 0, 0]) == pytest.approx(70_000.3)


def test_stored_weights_are_never_fetched_again(tmp_path, fetching):
    network = replace(NETWORK, model=fetching, options={"pretrained": True})
    _, stored = load_weights(written(tmp_path, encode_weights(NETWORK.build(), network)))
    assert stored.options == {}


def test_a_file_that_asks_for_weights_from_elsewhere_does_not_get_them(tmp_path, fetching):
    content = encode_weights(NETWORK.build(), replace(NETWORK, model=fetching))
    described = json.dumps({**asdict(NETWORK), "model": fetching, "options": {"pretrained": True}})
    tensors = {name: tensor.contiguous() for name, tensor in load_tensors(content).items()}
    _, network = load_weights(written(tmp_path, save(tensors, {"version": "1", "network": described})))
    assert network.options == {}


def test_other_files_are_refused_by_name(tmp_path):
    weights = NETWORK.build().state_dict()
    described = {"model": "small_resnet", "image_shape": [3, 8, 8]}
    for content, message in [
        (b"", "cannot be read"),
        (b"nonsense", "cannot be read"),
        (save(weights), "it has version None"),
        (save(weights, {"version": "0", "network": "{}"}), "it has version '0', and this program reads version 1"),
        (save(weights, {"version": "1", "network": "{}"}), "does not say model, image_shape, class_names"),
        (save(weights, {"version": "1", "network": json.dumps(described)}), "does not say class_names, expert_names"),
        (save(weights, {"version": "1", "network": "{"}), "cannot be read"),
        (encode_weights(NETWORK.build(), replace(NETWORK, class_names=("a", "b"))), "must have the shape"),
        (encode_weights(NETWORK.build(), replace(NETWORK, model="nonesuch")), "model must be one of"),
        (encode_weights(NETWORK.build(), NETWORK)[:-100], "cannot be read"),
    ]:
        with pytest.raises(ValueError, match=r"model\.safetensors cannot be read: ") as caught:
            load_weights(written(tmp_path, content))
        assert message in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*none\.safetensors"):
        load_weights(tmp_path / "none.safetensors")
    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match=r"other\.safetensors cannot be read"):
        load_weights(tmp_path / "other.safetensors")
