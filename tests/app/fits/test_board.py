"""Fits that sessions share: each runs once, whoever asks, and is dropped when nobody waits for it any more."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.fits.board import FitBoard

PATIENCE_SECONDS = 60


class Left(BaseException):
    """What ends a caller's wait, as Streamlit ends a script run that is out of date."""


class Fit:
    """A fit that goes on until it is released or told to stop, and counts how often it was made."""

    def __init__(self):
        self.made, self.started, self.released, self.stopped = 0, *(threading.Event() for _ in range(3))

    def __call__(self, on_progress):
        self.made += 1
        self.started.set()
        while not self.released.wait(0.01):
            if on_progress(0.5) is False:
                self.stopped.set()
                raise RuntimeError("dropped")
        return f"fit {self.made}"


def leave(_share):
    raise Left


def stay(_share):
    pass


def at_once(result):
    return lambda _on_progress: result


@pytest.fixture
def callers():
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.fixture
def board():
    return FitBoard(keep=2)


def ask(callers, board, key, fit, on_wait=stay):
    """Ask from a thread of its own, and return when the board knows of it."""
    waiting = threading.Event()

    def note(share):
        waiting.set()
        on_wait(share)

    answer = callers.submit(board.get, key, fit, note)
    assert waiting.wait(PATIENCE_SECONDS)
    return answer


def test_a_fit_is_made_once_for_all_who_ask_at_the_same_time_and_later(board, callers):
    fit = Fit()
    answers = [ask(callers, board, "a", fit) for _ in range(3)]
    fit.released.set()
    assert [answer.result(PATIENCE_SECONDS) for answer in answers] == ["fit 1"] * 3
    assert board.get("a", fit, stay) == "fit 1"
    assert fit.made == 1


def test_other_keys_are_other_fits(board):
    assert board.get(("a", 1), at_once("one"), stay) == "one"
    assert board.get(("a", 2), at_once("two"), stay) == "two"


def test_callers_are_told_how_far_the_fit_is(board, callers):
    shares, fit = [], Fit()
    answer = ask(callers, board, "a", fit, shares.append)
    end = time.monotonic() + PATIENCE_SECONDS
    while 0.5 not in shares and time.monotonic() < end:
        time.sleep(0.01)
    fit.released.set()
    answer.result(PATIENCE_SECONDS)
    assert set(shares) <= {0.0, 0.5}
    assert shares[-1] == 0.5


def test_a_fit_is_told_to_stop_when_its_only_caller_leaves(board):
    fit = Fit()
    with pytest.raises(Left):
        board.get("a", fit, leave)
    assert fit.stopped.wait(PATIENCE_SECONDS)


def test_a_fit_that_was_left_is_made_anew_though_the_old_one_has_not_stopped_yet(board):
    may_look, looked, seen = threading.Event(), threading.Event(), []

    def slow_to_notice(on_progress):
        may_look.wait(PATIENCE_SECONDS)
        seen.append(on_progress(0.1))
        looked.set()
        return "old"

    with pytest.raises(Left):
        board.get("a", slow_to_notice, leave)
    assert board.get("a", at_once("new"), stay) == "new"
    may_look.set()
    assert looked.wait(PATIENCE_SECONDS)
    assert seen == [False]
    assert board.get("a", at_once("never made"), stay) == "new"


def test_a_fit_goes_on_while_one_of_its_callers_stays(board, callers):
    fit = Fit()
    staying = ask(callers, board, "a", fit)
    with pytest.raises(Left):
        board.get("a", fit, leave)
    assert not fit.stopped.wait(0.1)
    fit.released.set()
    assert staying.result(PATIENCE_SECONDS) == "fit 1"


@pytest.mark.parametrize("problem", [ValueError("too few cases"), MemoryError("too many"), SystemExit(3)])
def test_an_error_is_passed_on_and_the_next_call_tries_again(board, problem):
    def fail(_on_progress):
        raise problem

    with pytest.raises(type(problem)) as caught:
        board.get("a", fail, stay)
    assert caught.value is problem
    assert board.get("a", at_once("well"), stay) == "well"


def test_an_error_reaches_all_who_wait(board, callers):
    released = threading.Event()

    def fail(_on_progress):
        released.wait(PATIENCE_SECONDS)
        raise ValueError("too few cases")

    answers = [ask(callers, board, "a", fail) for _ in range(2)]
    released.set()
    for answer in answers:
        with pytest.raises(ValueError, match="too few cases"):
            answer.result(PATIENCE_SECONDS)


def test_only_the_fits_that_were_asked_for_last_are_kept(board):
    for key in ("a", "b", "a", "c"):
        board.get(key, at_once(f"first {key}"), stay)
    assert board.get("a", at_once("second a"), stay) == "first a"
    assert board.get("c", at_once("second c"), stay) == "first c"
    assert board.get("b", at_once("second b"), stay) == "second b"


def test_a_fit_that_somebody_waits_for_is_never_forgotten(callers):
    board, fit = FitBoard(keep=1), Fit()
    first = ask(callers, board, "a", fit)
    for key in ("b", "c"):
        assert board.get(key, at_once(key), stay) == key
    second = ask(callers, board, "a", fit)
    fit.released.set()
    assert [first.result(PATIENCE_SECONDS), second.result(PATIENCE_SECONDS)] == ["fit 1"] * 2
    assert fit.made == 1


def test_what_is_to_be_done_meanwhile_is_done_while_the_fit_runs(board):
    fit = Fit()

    def meanwhile():
        assert fit.started.wait(10)
        fit.released.set()

    assert board.get("a", fit, stay, meanwhile) == "fit 1"


def test_where_that_fails_the_caller_has_left(board):
    fit = Fit()
    with pytest.raises(Left):
        board.get("a", fit, stay, lambda: leave(0.0))
    assert fit.stopped.wait(10)
