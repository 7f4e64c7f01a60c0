"""The README's tree names every file, and its example runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FOLDERS = sorted({path.parent for top in ("app", "l2d_core", "benchmarks") for path in (ROOT / top).rglob("*.py")})


def listed_in(folder):
    """The names that the tree lists under a folder."""
    name = re.escape(folder.relative_to(ROOT).as_posix())
    block = re.search(rf"^{name}/\n((?:  \S.*\n)+)", README, re.MULTILINE)
    return {line.split()[0] for line in block[1].splitlines()} if block else set()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(ROOT).as_posix())
def test_the_tree_lists_the_files_of_a_folder_and_no_others(folder):
    assert {name for name in listed_in(folder) if name.endswith(".py")} == {path.name for path in folder.glob("*.py")}


def test_the_example_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert "miscalibration" in capsys.readouterr().out


def test_the_pictures_and_files_that_it_links_are_there():
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert link.startswith("https://") or (ROOT / link).exists(), link
