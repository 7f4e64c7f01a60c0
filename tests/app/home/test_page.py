"""Home: four sentences, one picture, the way to the lab, and nothing slow before it is drawn."""

import re
import subprocess
import sys
from urllib.parse import parse_qs

import pytest
from lab_page import APP, LAB, open_digits, open_home

from app.lab.links import LINKS
from l2d_core.common.paths import PROGRAM

SLOW = ["torch", "sklearn", "scipy", "pandas", "pyarrow", "altair", "plotly", "timm", "distributed", "matplotlib"]
DRAW_HOME = """
import sys
import streamlit.testing.v1
before = set(sys.modules)  # of plotly Streamlit itself imports a part, as soon as it starts
from app.fits import shared
warm_up, started = shared.warm_up, []
shared.warm_up = lambda: started.append("torch" in sys.modules)
from streamlit.testing.v1 import AppTest
home = AppTest.from_file({app!r} + "/Home.py", default_timeout=60).run()
assert not home.exception, home.exception[0].value
assert [title.value for title in home.title] == ["Learning to defer"]
assert started == [False], "torch was imported before Home was drawn"
slow = {{name for name in sys.modules if name not in before and name.partition(".")[0] in {slow!r}}}
assert not slow, f"imported before Home was drawn: {{sorted(slow)[:9]}}"
assert "l2d_core.lab.heads" not in sys.modules
shared.WARM_UP_AFTER = 0
warm_up().join(60)
assert {{"torch", "l2d_core.lab.heads"}} <= set(sys.modules)
"""


def in_a_new_python(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=PROGRAM, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_home_is_drawn_before_anything_slow_is_imported_and_then_the_library_is_imported_in_the_background():
    in_a_new_python(DRAW_HOME.format(app=str(APP), slow=SLOW))


def test_importing_the_library_imports_nothing_slow():
    slow = {"streamlit", *SLOW}
    in_a_new_python(f"import sys, l2d_core; found = {slow!r} & sys.modules.keys(); assert not found, found")


def test_home_says_what_learning_to_defer_is_in_four_sentences():
    home = open_home()
    assert not home.exception
    text = max((part.value for part in home.markdown), key=len)
    plain = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", text)
    assert len(re.findall(r"[.!?](?:\s|$)", plain)) == 4
    assert "one-vs-all" in plain


def test_home_has_a_picture_with_a_text_for_screen_readers():
    (picture,) = (image for element in open_home().image for image in element.proto.imgs)
    assert "defer" in picture.alt
    assert len(picture.alt) > 100


@pytest.mark.parametrize("theme", ["light", "dark", None])
def test_the_picture_is_drawn_in_each_theme(theme):
    home = open_home()
    home.context["theme"] = theme
    assert not home.run().exception
    assert len(home.image) == 1


def test_each_way_into_the_lab_leads_to_a_data_set_that_it_offers():
    home = open_home()
    lab = open_digits()
    titles = lab.selectbox(key="data").options
    names = LINKS.titles()["data"]
    links = home.get("page_link")
    starts = [parse_qs(link.proto.query_string) for link in links if link.proto.page == "lab"]
    assert [link.proto.page for link in links] == ["lab"] * 3 + ["learn", "lesions", "train", "compare", "paper"]
    wanted = [names[start["data"][0]] if start else titles[0] for start in starts]
    assert [title.split(":")[0] for title in wanted] == ["HAM10000", "CIFAR-10", "Gaussians in the plane (truth known)"]
    assert set(wanted) <= set(titles)


def test_the_way_back_from_the_lab_is_home():
    app = open_home().switch_page(LAB).run()
    assert [title.value for title in app.title] == ["Live lab"]
    app.switch_page("home/page.py").run()
    assert [title.value for title in app.title] == ["Learning to defer"]
    assert not app.exception
