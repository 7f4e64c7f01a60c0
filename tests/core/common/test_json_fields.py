"""Options against the signature of the function that they are for."""

import pytest

from l2d_core.common.json_fields import check_options


def build(_outputs, _shape, *, depth: int = 3, share: float = 0.5, fast: bool = False, kind: str = "a"):
    return depth, share, fast, kind


def test_options_of_the_right_types_pass():
    check_options("model 'm'", build, {"depth": 4, "share": 1, "fast": True, "kind": "b"})
    check_options("model 'm'", build, {"share": 0.25})
    check_options("model 'm'", build, {})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 4}, "^model 'm' has no option 'width'; it has depth, share, fast, kind$"),
        ({"_shape": 4}, "has no option '_shape'"),
        ({"depth": 4.0}, "^depth of model 'm' must be a whole number, got 4.0$"),
        ({"depth": True}, "depth of model 'm' must be a whole number, got True"),
        ({"depth": "4"}, "depth of model 'm' must be a whole number, got '4'"),
        ({"share": "half"}, "share of model 'm' must be a number, got 'half'"),
        ({"share": False}, "share of model 'm' must be a number, got False"),
        ({"fast": 1}, "fast of model 'm' must be true or false, got 1"),
        ({"kind": 1}, "kind of model 'm' must be text, got 1"),
    ],
)
def test_an_option_that_is_unknown_or_of_another_type_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        check_options("model 'm'", build, options)


def test_a_function_without_options_says_so():
    with pytest.raises(ValueError, match="data set 'd' has no option 'noise'; it has none"):
        check_options("data set 'd'", lambda root, seed: None, {"noise": 1})
