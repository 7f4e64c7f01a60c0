"""The surrogate losses by name, in the order in which pages show them."""

from l2d_core.surrogates.asymmetric_softmax import ASYMMETRIC_SOFTMAX
from l2d_core.surrogates.one_vs_all import ONE_VS_ALL
from l2d_core.surrogates.softmax import SOFTMAX
from l2d_core.surrogates.surrogate import Surrogate, check_batch, check_option_values

SURROGATES: dict[str, Surrogate] = {
    "softmax": SOFTMAX,
    "one_vs_all": ONE_VS_ALL,
    "asymmetric_softmax": ASYMMETRIC_SOFTMAX,
}

__all__ = ["SURROGATES", "Surrogate", "check_batch", "check_option_values"]
