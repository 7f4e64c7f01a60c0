"""The queue of trainings under threads and on a cluster that misbehaves; whose turn it is; what is lost goes on."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from small_jobs import SHORT, wait_until

from app.jobs import trainer
from app.jobs.board import JobBoard, NoSuchJob
from app.jobs.folder import make_job, read_record
from app.jobs.queue import ENDED, HANDED_OVER, MAX_PENDING, MAX_PER_SESSION, MOVES, WAITING, JobQueue
from l2d_core.runs.folder import HISTORY
from l2d_core.sweeps import cluster

THREADS = 30
# What a cluster says of a training, look by look, the last for ever; an exception is raised.
LATE, NEVER, TWICE = ["queued"] * 3 + ["running", "done"], ["queued"], ["running", "running", "done", "queued", "done"]
EARLY, FAILS, POISON = ["done"], ["running", "failed"], ["running", RuntimeError("of this one alone")]
SOUND, UNSOUND = (LATE, EARLY, TWICE, NEVER), (FAILS, POISON, [OSError("its own")])


class FakeCluster:
    """Runs nothing, and answers as `answers(number of the run)` has it."""

    def __init__(self, monkeypatch, answers, places=4):
        self.answers, self.handed, self.opened, self.places = answers, {}, 0, places
        for name in ("open_cluster", "submit", "outcomes_of", "stop"):
            monkeypatch.setattr(cluster, name, getattr(self, name))
        monkeypatch.setattr(trainer, "WATCH_SECONDS", 0.001)

    @contextmanager
    def open_cluster(self, *_, **__):
        self.opened += 1
        self.client = SimpleNamespace(status="running", nthreads=lambda: dict.fromkeys(range(self.places), 1))
        yield self.client

    def submit(self, _client, _config, folder, *_):
        if folder.name not in self.handed:
            self.handed[folder.name] = self.answers(len(self.handed))
        return SimpleNamespace(folder=folder, answers=list(self.handed[folder.name]))

    def outcomes_of(self, _client, handles):
        return [self._outcome(handle.answers) for handle in handles]

    def _outcome(self, answers):
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise type(answer)(*answer.args)  # a new one: the same one again would keep all its tracebacks
        return cluster.Outcome(answer, "no" if answer == "failed" else "")

    def stop(self, *_):
        if random.random() < 0.3:
            time.sleep(0.002)
        if random.random() < 0.1:
            raise OSError("the cluster is away")


@pytest.fixture
def open_board(tmp_path):
    boards = []

    def open_one(folder="runs", **options):
        boards.append(JobBoard(tmp_path / folder, data_root=Path("nowhere"), scheduler="tcp://fake:1", **options))
        return boards[-1]

    yield open_one
    for board in boards:
        board.close()


def visit(board, number, count, ended):
    """One visitor: starts trainings, and stops, renames, resumes and deletes them as chance has it."""
    chance, links = random.Random(number), []
    while len(links) < count:
        try:
            links.append(board.start(f"{number}", SHORT, session=str(number)))
        except ValueError:  # too many are waiting
            time.sleep(0.005)
        for link in chance.sample(links, min(2, len(links))):
            act = chance.choice([board.stop, board.resume, board.delete, lambda owner: board.rename(owner, "new")])
            try:
                act(link)
            except (NoSuchJob, ValueError):
                pass
            else:
                ended |= {link.id} if act == board.stop else set()
        if chance.random() < 0.3:  # or those that never answer fill the queue
            for link in links:
                board.stop(link) if exists(board, link) else None


def exists(board, link):
    try:
        board.look(link.id)
    except NoSuchJob:
        return False
    return True


def storm(monkeypatch, board, jobs, seed):
    """THREADS visitors at once with so many jobs in all, until all have ended."""
    random.seed(seed)
    chance = random.Random(seed)
    kinds = [chance.choice(SOUND + UNSOUND) for _ in range(4 * jobs)]
    fake = FakeCluster(monkeypatch, lambda number: kinds[number % len(kinds)])
    with ThreadPoolExecutor(THREADS) as visitors:
        visits = [visitors.submit(visit, board, number, -(-jobs // THREADS), set()) for number in range(THREADS)]
        for one in visits:
            one.result()
    for entry in board._queue.entries():
        board._trainer.stop(entry.job_id)
    wait_until(lambda: not len(board._queue), "the end of all")
    assert fake.opened >= 1
    for view in board.list():
        answers = fake.handed.get(view.id, NEVER)
        assert view.state in ("interrupted", "stopped", "failed"), view
        assert view.state != "failed" or answers in UNSOUND, f"{view} failed with {answers}"
    return fake


def test_trainings_of_thirty_visitors_at_once_fail_by_their_own_errors_alone(open_board, monkeypatch):
    fake = storm(monkeypatch, open_board(), 150, 0)
    assert len(fake.handed) > 40
    assert fake.opened == 1  # no error of one training closed the cluster of the others


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_thousand_storms_leave_no_training_failed_by_another(tmp_path, monkeypatch):
    for seed in range(1000):
        board = JobBoard(tmp_path / str(seed), data_root=Path("nowhere"), scheduler="tcp://fake:1")
        assert storm(monkeypatch, board, 500 if seed % 100 == 0 else THREADS, seed).opened == 1
        board.close()


@pytest.fixture
def ends():
    return []


@pytest.fixture
def queue(ends):
    return JobQueue(lambda *end: ends.append(end))


def serve_all(queue):
    """The order in which trainings get their turn, one place at a time."""
    order = []
    while len(queue):
        (entry,) = queue.next_up()
        order.append(entry.job_id)
        assert queue.move(entry, HANDED_OVER, handle="run")
        assert queue.move(entry, ENDED)
    return order


def test_sessions_take_turns_whatever_they_have_queued(queue):
    for number in range(4):
        queue.add(f"a{number}", "a")
    for job_id in ("b0", "c0", "b1"):
        queue.add(job_id, job_id[0])
    assert [queue.state(job_id) for job_id in ("a0", "b0", "c0", "a1", "a3")] == [
        ("starting", 0), ("queued", 1), ("queued", 2), ("queued", 3), ("queued", 6)
    ]  # fmt: skip
    assert serve_all(queue) == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"]


def test_who_comes_later_overtakes_the_many_of_one_session_and_starves_nobody(queue):
    for number in range(6):
        queue.add(f"a{number}", "a")
    order = []
    for number in range(10):
        (entry,) = queue.next_up()
        order.append(entry.job_id)
        queue.move(entry, HANDED_OVER)
        queue.add(f"new{number}", f"new{number}")  # a new visitor at each turn
        queue.move(entry, ENDED)
    assert order == ["a0", "a1", "new0", "a2", "new1", "new2", "a3", "new3", "new4", "new5"]


def test_a_session_has_a_limit_which_the_message_names_and_others_still_have_room(queue):
    for number in range(MAX_PER_SESSION):
        queue.add(f"a{number}", "a")
    with pytest.raises(ValueError, match=f"{MAX_PER_SESSION} trainings of yours are waiting or running"):
        queue.add("more", "a")
    queue.add("a0", "a")  # it is queued already
    for number in range(MAX_PENDING - MAX_PER_SESSION):
        queue.add(f"b{number}", f"b{number}")
    with pytest.raises(ValueError, match=f"{MAX_PENDING} trainings are waiting or running"):
        queue.add("late", "late")
    queue.take_back("a0")
    queue.add("more", "a")


@pytest.mark.parametrize("first", MOVES)
@pytest.mark.parametrize("second", MOVES)
def test_a_training_goes_only_where_its_phase_leads_and_ends_once(queue, ends, first, second):
    paths = {WAITING: (), HANDED_OVER: (HANDED_OVER,), "running": (HANDED_OVER, "running")}
    paths |= {"stopping": (HANDED_OVER, "stopping"), ENDED: (ENDED,)}
    queue.add("one", "a")
    (entry,) = queue.entries()
    assert all(queue.move(entry, phase) for phase in paths[first])
    assert queue.move(entry, second) == (second in MOVES[first])
    assert len(ends) == (ENDED in (first, second))


def test_what_a_lost_cluster_had_in_hand_goes_on_by_itself_and_ends_as_interrupted_after_three_losses(
    open_board, monkeypatch
):
    fake, board = FakeCluster(monkeypatch, lambda _: ["running"]), open_board()
    link = board.start("survivor", SHORT)

    def lose(times):
        wait_until(lambda: fake.opened == times and board.look(link.id).state == "running", f"cluster {times}")
        fake.client.status = "closed"

    for times in (1, 2):
        lose(times)
    wait_until(lambda: fake.opened == 3, "the third cluster")
    (board.root / link.id / HISTORY).write_text("an epoch")  # from here on the losses count anew
    for times in (3, 4, 5):
        lose(times)
    wait_until(lambda: not len(board._queue), "the end")
    assert board._queue.state(link.id) == ("", 0)
    assert read_record(board.root / link.id).ended == ""
    assert "continues automatically" in board.log(link.id)


def test_a_training_that_its_cluster_gives_up_is_handed_over_again(open_board, monkeypatch):
    fake, board = FakeCluster(monkeypatch, lambda _: ["stopped"]), open_board()
    link = board.start("given up", SHORT)
    submits, submit = [], fake.submit
    monkeypatch.setattr(cluster, "submit", lambda *arguments: submits.append(1) or submit(*arguments))
    wait_until(lambda: not len(board._queue), "the end")
    assert len(submits) + 1 >= trainer.MAX_LOSSES
    assert board.look(link.id).state == "interrupted"


def test_a_fault_of_the_queue_itself_interrupts_nothing(open_board, monkeypatch, caplog):
    faults = [ZeroDivisionError("a bug")] * 2
    FakeCluster(monkeypatch, lambda _: LATE)
    board, watch = open_board(), trainer.Trainer._watch

    def fail_first(one):
        if faults:
            raise faults.pop()
        watch(one)

    monkeypatch.setattr(trainer.Trainer, "_watch", fail_first)
    links = [board.start(name, SHORT) for name in "ab"]
    wait_until(lambda: not len(board._queue), "the end")
    assert not faults
    assert [read_record(board.root / link.id).ended for link in links] == ["", ""]
    assert "a bug" in caplog.text  # the server's log has it


def test_a_stop_that_is_never_answered_ends_all_the_same(open_board, monkeypatch):
    FakeCluster(monkeypatch, lambda _: ["running"])
    answered = threading.Event()
    monkeypatch.setattr(cluster, "stop", lambda *_: answered.wait(60))
    monkeypatch.setattr(trainer, "MAX_STOP_SECONDS", 0.1)
    board = open_board()
    link = board.start("deaf", SHORT)
    wait_until(lambda: board.look(link.id).state == "running", "its start")
    board.stop(link)
    wait_until(lambda: board.look(link.id).state == "stopped", "its end")
    answered.set()


def test_an_end_that_cannot_be_noted_ends_no_other(monkeypatch, open_board):
    FakeCluster(monkeypatch, lambda number: FAILS if number else LATE)
    board = open_board()
    monkeypatch.setattr(board._queue, "_on_end", lambda *_: 1 / 0)
    for name in "ab":
        board.start(name, SHORT)
    wait_until(lambda: not len(board._queue), "the end of both")


def test_one_visitor_cannot_queue_more_trainings_than_a_session_may_have(open_board, monkeypatch):
    FakeCluster(monkeypatch, lambda _: NEVER)
    board = open_board()
    links = [board.start("mine", SHORT, session="me") for _ in range(MAX_PER_SESSION)]
    stopped = make_job(board.root, "stopped", SHORT)
    for act in (lambda: board.start("more", SHORT, session="me"), lambda: board.resume(stopped, session="me")):
        with pytest.raises(ValueError, match="trainings of yours"):
            act()
    assert board.look(stopped.id).state == "interrupted"
    assert board.owns(board.start("another", SHORT, session="you"))
    board.stop(links[0])
