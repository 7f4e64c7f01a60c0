"""What README.md and the other Markdown pages say holds: their folders and files exist, and their examples run."""

import ast
import re
import shlex
import subprocess
import tomllib
from functools import wraps
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tyro.extras import SubcommandApp

import l2d_core
from l2d_core.cli import commands
from l2d_core.common.paths import PROGRAM
from l2d_core.data import Scores
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.sweeps.plan import read_sweep

PAGES = {
    page: (PROGRAM / page).read_text(encoding="utf-8")
    for page in ("README.md", "benchmarks/README.md", "pretrained/README.md")
} | {f"docs/{path.name}": path.read_text(encoding="utf-8") for path in (PROGRAM / "docs").glob("*.md")}
README = PAGES["README.md"]
ADDED = ("l2d_core/surrogates/weighted_one_vs_all.py", "l2d_core/datasets/two_moons.py")  # in docs/extending.md


def blocks(language):
    """(page, code) of each fenced block in a language."""
    return [
        (page, code) for page, text in PAGES.items() for code in re.findall(rf"```{language}\n(.*?)```", text, re.S)
    ]


def commands_of_the_library():
    """What the pages call `python -m l2d_core` with, in fenced and in indented blocks."""
    for page, text in PAGES.items():
        for line in re.findall(r"^(?: {4})?python -m l2d_core (.*)$", text.replace("\\\n", ""), re.MULTILINE):
            yield pytest.param(shlex.split(line.replace("NAME", "all"), comments=True), id=f"{page}: {line[:50]}")


def tree_of_the_readme():
    """The folders that the tree names, below the folder in the first column that they belong to."""
    tree = re.search(r"## Where things are\n.*?```\n(.*?)```", README, re.DOTALL)[1]
    folders, top = set(), ""
    for line in tree.splitlines():
        named = re.match(r"( *)((?:[\w.]+/ ?)+)", line)
        if named[1] == "":
            top = named[2].split("/")[0]
        else:
            folders |= {f"{top}/{name}" for name in named[2].replace("/", "").split()}
    return folders, tree


def is_code(folder):
    return folder.is_dir() and any(folder.glob("*.py"))


def test_the_tree_names_every_folder_and_no_others():
    named, tree = tree_of_the_readme()
    there = {f"{top}/{path.name}" for top in ("l2d_core", "app") for path in (PROGRAM / top).iterdir() if is_code(path)}
    assert named == there
    assert len(tree.splitlines()) <= 40
    for folder in re.findall(r"^(\w+)/", tree, re.MULTILINE):
        assert (PROGRAM / folder).is_dir(), folder


def test_the_example_of_the_readme_runs(capsys):
    (example,) = [code for page, code in blocks("python") if page == "README.md"]
    exec(compile(example, "README.md", "exec"), {})
    assert "miscalibration" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES)
def test_links_and_paths_of_a_page_lead_somewhere(page):
    folder = (PROGRAM / page).parent
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", PAGES[page])
    assert not [link for link in links if not link.startswith("https://") and not (folder / link).exists()]
    paths = re.findall(r"(?<![\w/])(?:app|l2d_core|tests|benchmarks|docs)(?:/[\w-]+)+(?:\.\w+)?", PAGES[page])
    assert not [path for path in paths if not (PROGRAM / path).exists() and path not in ADDED]


@pytest.fixture
def parsed(monkeypatch):
    """The commands of the library, none of which does anything but to note that it was called."""
    called = []

    def noting(function):
        @wraps(function)
        def note(*arguments, **options):
            called.append((function.__name__, arguments, options))

        return note

    def replace(app):
        for spec in app._subcommands.values():
            if isinstance(spec.target, SubcommandApp):
                replace(spec.target)
            else:
                monkeypatch.setattr(spec, "target", noting(spec.target))

    replace(commands.app)
    return called


@pytest.mark.parametrize("arguments", list(commands_of_the_library()))
def test_a_command_of_the_library_is_one_that_it_takes(arguments, parsed, capsys):
    if "--help" in arguments:
        with pytest.raises(SystemExit, match="0"):
            commands.main(arguments)
        assert arguments[0] in capsys.readouterr().out
        return
    assert commands.main(arguments) == 0
    assert len(parsed) == 1


def test_a_command_that_the_library_does_not_take_is_noticed(parsed):
    for arguments in (["train", "--out", "runs", "--speed", "7"], ["tune"], ["reproduce", "table9"]):
        with pytest.raises(SystemExit, match="2"):
            commands.main(arguments)
    assert not parsed


@pytest.mark.parametrize(("page", "code"), blocks("sh"))
def test_a_shell_block_is_shell_and_starts_files_that_exist(page, code):
    checked = subprocess.run(["bash", "-n"], input=code, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    for file in re.findall(r"\S+\.py\b", code):
        assert list(PROGRAM.glob(file)), (page, file)


@pytest.mark.parametrize(("page", "code"), blocks("python"))
def test_a_python_block_is_python(page, code):
    ast.parse(code, page)


def test_the_example_of_a_sweep_can_be_read(tmp_path):
    ((_, text),) = blocks("json")
    (tmp_path / "sweep.json").write_text(text)
    found = read_sweep(tmp_path / "sweep.json")
    assert len(found.configs) == 8
    assert not found.problems


def test_the_container_has_all_packages_before_they_are_installed():
    lines = (PROGRAM / "Dockerfile").read_text(encoding="utf-8").splitlines()
    installed = next(row for row, line in enumerate(lines) if "pip install" in line)
    settings = tomllib.loads((PROGRAM / "pyproject.toml").read_text(encoding="utf-8"))
    for pattern in settings["tool"]["setuptools"]["packages"]["find"]["include"]:
        assert f"COPY {pattern.rstrip('*')} {pattern.rstrip('*')}" in lines[:installed]


def test_every_environment_variable_is_in_the_table_and_no_others():
    code = "".join(
        path.read_text(encoding="utf-8") for top in ("app", "l2d_core") for path in (PROGRAM / top).rglob("*.py")
    )
    named = re.findall(r"^\| `(L2D_\w+)` \|", PAGES["docs/serving.md"], re.MULTILINE)
    assert sorted(named) == sorted(set(re.findall(r"environ(?:\.get\(|\[)\"(L2D_\w+)", code)))


def test_the_version_is_the_same_everywhere():
    newest = re.search(r"^## ([\d.]+)", (PROGRAM / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    cited = re.search(r"^version: (.*)", (PROGRAM / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert newest == cited == l2d_core.__version__


def test_the_requirements_beside_the_entry_file_are_the_same_but_for_pytorchs_index():
    own, all_of_it = (
        (PROGRAM / name).read_text().splitlines() for name in ("app/requirements.txt", "requirements.txt")
    )
    options = [line for line in own if not line.startswith("#")]
    assert options[1:] == [line for line in all_of_it if not line.startswith("#")] == ["-e ."]
    assert options[0].startswith("--extra-index-url https://download.pytorch.org/")


def test_the_quick_start_with_a_plain_classifier_and_with_a_trainer_runs(tmp_path, monkeypatch, capsys):
    plain, trainer = [code for page, code in blocks("python") if page == "docs/quick-start.md"]
    monkeypatch.chdir(tmp_path)
    exec(compile(plain, "quick-start.md", "exec"), {})
    assert "system: " in capsys.readouterr().out
    made = Scores.load("mine.npz")
    assert 0 < defer_by_argmax(made.logits).mean() < 1
    output = SimpleNamespace(predictions=made.logits.astype(np.float32), label_ids=made.labels)
    given = {"trainer": SimpleNamespace(predict=lambda _: output), "test_set": None, "answers": made.answers[:, 0]}
    exec(compile(trainer, "quick-start.md", "exec"), given)
    assert "ECE " in capsys.readouterr().out
    assert Scores.load("mine.npz").surrogate == "one_vs_all"


IMPORTS = re.findall(r"^python -m l2d_core (import .*)$", PAGES["docs/quick-start.md"], re.MULTILINE)


@pytest.mark.parametrize("line", IMPORTS)
def test_an_import_of_the_quick_start_makes_scores_of_such_a_table(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numbers = ",p_cat,p_dog\nx,0,1,0.6,0.4\n" if "p_cat" in line else ",cat,dog,ask\nx,cat,,0.6,-0.4,2\n"
    Path("mine.csv").write_text("id,label,expert" + numbers)
    assert commands.main(shlex.split(line)) == 0
    assert len(Scores.load("mine.npz")) == 1
