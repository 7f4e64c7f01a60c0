"""What a test of the pages can watch or hold open."""

from functools import cache
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner

pytest.register_assert_rewrite("lab_page")


class OwnProcess:
    """Runs experiments where the test can watch them; fits/test_workers.py has the processes."""

    num_free = 1

    def start(self, count=None):
        pass

    def run(self, *arguments, on_progress):
        from app.fits import experiment

        return experiment.run(*arguments, on_progress=on_progress)


@pytest.fixture(autouse=True, scope="session")
def _experiments_in_this_process():
    from app.fits import shared

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "workers", OwnProcess)
        yield


@pytest.fixture(autouse=True, scope="session")
def _packages_are_looked_through_once():
    """Not in each new session: a server looks for components among all installed packages once, as it starts."""
    with pytest.MonkeyPatch.context() as patch:
        scan = manifest_scanner.scan_component_manifests
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(scan))
        yield


@pytest.fixture
def no_fits():
    """A server that has no fits yet; other tests share them, as sessions do."""
    from app.fits import shared

    shared.fit_board.clear()


@pytest.fixture
def fits(no_fits, monkeypatch):  # noqa: ARG001
    """The calls of `lab.fit`, in order: train, test, confusion, and each keyword."""
    from l2d_core.lab import heads

    calls, fit = [], heads.fit

    def watched(train, test, confusion, **options):
        calls.append(SimpleNamespace(train=train, test=test, confusion=confusion, **options))
        return fit(train, test, confusion, **options)

    monkeypatch.setattr(heads, "fit", watched)
    return calls


@pytest.fixture
def open_expanders(monkeypatch):
    """Every expander stands open; AppTest cannot open one."""
    expander = st.expander
    monkeypatch.setattr(st, "expander", lambda *args, **options: expander(*args, **options | {"expanded": True}))
