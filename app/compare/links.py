"""What links to a comparison carry: the chosen runs and all settings."""

from app.sharing.carried import Carried, Settings, Titles


def _settings() -> Settings:
    from app.compare import controls

    return controls.settings_keys()


def _titles() -> Titles:
    from app.compare.controls import DIAGRAMS, ESTIMATES, STRATEGIES
    from l2d_core.evaluation.recalibration import RECALIBRATIONS

    titles = {"compare_bin_kind": STRATEGIES, "recalibration": RECALIBRATIONS, "estimate": ESTIMATES}
    return titles | {"diagram": DIAGRAMS}


def _defaults() -> dict[str, str]:
    point = {"price": "0", "budget": "100"}
    return point | {
        "compare_bins": "15",
        "compare_bin_kind": "equal_width",
        "recalibration": "none",
        "estimate": "odds",
        "diagram": "binned",
    }


LINKS = Carried(_settings, _titles, _defaults, repeated=("run",))
