"""Who is served worse in the live lab, on skin lesions."""

from html import unescape

from lab_page import assert_sound, open_lab, texts


def open_groups(**settings):
    app = open_lab(data="ham10000", seeds=2, **settings)
    app.session_state["lab-groups"] = True
    return app.run()


def test_the_groups_of_all_test_cases_are_shown_for_each_system():
    app = open_groups()
    assert_sound(app)
    found = next(unescape(one.value) for one in app.html if 'class="groups"' in one.value)
    assert "<th>all</th>\n<td>2,004 (" in found
    assert "<th>75 and over</th>" in found
    assert any("means over 2 seeds" in text for text in texts(app))


def test_another_first_seed_shows_the_cases_that_are_known_and_says_how_many():
    app = open_groups(seed=5)
    assert_sound(app)
    assert any("Those 366 of 1,998 test cases" in text for text in texts(app))
