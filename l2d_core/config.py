"""Settings of a training, frozen and checked when they are made."""

from dataclasses import dataclass

from l2d_core.checks import require_known

LEARNING_RATES = {"linear": 0.1, "mlp": 0.003}
HEADS = tuple(LEARNING_RATES)


@dataclass(frozen=True)
class HeadConfig:
    """How the live lab trains a head: AdamW with a cosine rate, from `learning_rate` down to 0.

    kind: "linear", or "mlp" with one hidden layer of `hidden_units` rectified units. weight_decay is AdamW's.
    learning_rate: None for LEARNING_RATES[kind], with which 20 epochs get a head of that kind to where more change
    little.
    ValueError names the setting that is out of range.
    """

    kind: str = "linear"
    hidden_units: int = 64
    epochs: int = 20
    batch_size: int = 512
    learning_rate: float | None = None
    weight_decay: float = 0.01

    def __post_init__(self) -> None:
        require_known("kind", self.kind, HEADS)
        for name in ("hidden_units", "epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.learning_rate is not None and not 0 < self.learning_rate < float("inf"):
            raise ValueError(f"learning_rate must be above 0 and finite, got {self.learning_rate}")
        if not 0 <= self.weight_decay < float("inf"):
            raise ValueError(f"weight_decay must be at least 0 and finite, got {self.weight_decay}")

    @property
    def rate(self) -> float:
        """The learning rate to start from."""
        return LEARNING_RATES[self.kind] if self.learning_rate is None else self.learning_rate
