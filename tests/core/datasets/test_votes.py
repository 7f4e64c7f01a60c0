"""Votes: the majority, one voter as the expert, and tables of votes from outside with all that may be wrong in them."""

import numpy as np
import pytest
import torch

from l2d_core.data import DeferralData, Splits
from l2d_core.datasets.vote_table import VoteColumns, find_images, in_small_type, read_vote_table
from l2d_core.datasets.votes import ONE_VOTER, Voters, draw_votes, expert_probability, majority, shares_of

COUNTS = np.array([[3, 0, 0], [1, 2, 0], [1, 1, 2], [2, 2, 0], [0, 0, 7]])
COLUMNS = VoteColumns("id", {"cat": "n_cat", "dog": "n_dog"}, "counts")
SHARES = VoteColumns("id", {"cat": "p_cat", "dog": "p_dog"}, "shares")
PERCENT = VoteColumns("id", {"cat": "p_cat", "dog": "p_dog"}, "percent")


# The label and the expert.


def test_shares_and_majority_by_hand():
    shares = shares_of(COUNTS)
    np.testing.assert_allclose(shares[1:3], [[1 / 3, 2 / 3, 0], [0.25, 0.25, 0.5]])
    assert majority(shares).tolist() == [0, 1, 2, 0, 2]  # of equals the first class
    np.testing.assert_allclose(expert_probability(shares, majority(shares)), [1, 2 / 3, 0.5, 0.5, 1])


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, 0], [0, 0]], "counts must hold at least one vote a case, got none at row 1"),
        ([[1, -1]], "counts must lie in .*, got -1.0 at row 0"),
        ([[1, np.nan]], "got nan at row 0"),
        ([[1, np.inf]], "got inf at row 0"),
        ([1, 2], "counts must have shape"),
    ],
)
def test_counts_that_make_no_shares_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        shares_of(np.array(counts, dtype=float))


def test_each_class_is_drawn_as_often_as_its_share_of_the_votes():
    shares = shares_of(COUNTS)
    generator = np.random.default_rng(0)
    drawn = np.stack([draw_votes(shares, generator=generator) for _ in range(4000)])
    rates = np.stack([(drawn == k).mean(axis=0) for k in range(3)], axis=1)
    error = np.sqrt(shares * (1 - shares) / len(drawn))
    assert (np.abs(rates - shares) <= 4 * error).all()  # with no spread at all where all or none voted so


def test_a_class_without_a_vote_is_never_drawn_even_at_the_edges_of_the_draw():
    class Edge(np.random.Generator):
        value = 0.0

        def random(self, size):
            return np.full(size, self.value)

    shares, edge = np.array([[0.0, 0.1, 0.2, 0.7, 0.0]]), Edge(np.random.PCG64())
    assert draw_votes(shares, generator=edge).tolist() == [1]
    edge.value = np.nextafter(1, 0)
    assert draw_votes(shares, generator=edge).tolist() == [3]


@pytest.mark.parametrize("shares", [[[0.5, 0.4]], [[1.2, -0.2]], [[np.nan, 1.0]]])
def test_shares_that_are_no_distribution_are_refused(shares):
    with pytest.raises(ValueError, match="shares must"):
        draw_votes(np.array(shares), generator=np.random.default_rng(0))


# The voters of a data set.


def make_voters():
    return Voters.of(np.array(["a", "b", "c", "d", "e"]), COUNTS, "someone")


def make_data(names):
    labels = majority(shares_of(COUNTS))["abcde".index(names[0]) : "abcde".index(names[0]) + len(names)]
    return DeferralData.unasked(torch.zeros(len(names), 2), torch.from_numpy(labels), list(names), ("x", "y", "z"))


def test_a_case_gets_the_same_vote_whatever_other_cases_are_asked_for():
    voters = make_voters()
    whole = voters.answers(np.array(list("abcde")), generator=np.random.default_rng(5))
    part = voters.answers(np.array(["d", "b"]), generator=np.random.default_rng(5))
    assert part.tolist() == [whole[3], whole[1]]


def test_splits_are_asked_by_name_and_say_who_answered():
    splits = Splits(make_data("ab"), make_data("c"), make_data("de"))
    asked = make_voters().ask(splits, ONE_VOTER, generator=np.random.default_rng(5))
    whole = make_voters().answers(np.array(list("abcde")), generator=np.random.default_rng(5))
    assert torch.cat([asked.train.answers, asked.validation.answers, asked.test.answers])[:, 0].tolist() == [*whole]
    assert asked.test.expert_names == ("someone",)
    assert make_voters().right(np.array(["d", "e"]), asked.test.labels.numpy()).tolist() == [0.5, 1.0]


def test_what_does_not_fit_the_voters_is_named():
    splits = Splits(make_data("ab"), make_data("c"), make_data("de"))
    with pytest.raises(ValueError, match="expert's name must be one of 'one_voter'; got 'everybody'"):
        make_voters().ask(splits, "everybody", generator=np.random.default_rng(0))
    with pytest.raises(ValueError, match="no votes on 1 of the 2 cases, the first is z"):
        make_voters().answers(np.array(["a", "z"]), generator=np.random.default_rng(0))
    with pytest.raises(ValueError, match="name each case once, got a 2 times"):
        Voters.of(np.array(["a", "a"]), COUNTS[:2], "someone")
    two = Voters.of(list("abcde"), COUNTS[:, 1:] + 1, "someone")
    with pytest.raises(ValueError, match="votes are on 2 classes, got 3"):
        two.ask(splits, ONE_VOTER, generator=np.random.default_rng(0))


# Tables from outside.


def read(text, columns=COLUMNS):
    return read_vote_table(text.encode(), columns)


def test_counts_are_read_by_column_whatever_the_order_and_the_delimiter():
    for text in ("id,n_cat,n_dog\n7,3,1\n8,0,2\n", "N_Dog;other;ID;n_cat\n1;x;7;3\n2;y;8;0\n"):
        table = read(text)
        assert table.ids.tolist() == ["7", "8"]
        assert table.votes.tolist() == table.scores.tolist() == [[3, 1], [0, 2]]
        assert table.class_names == ("cat", "dog")


def test_shares_may_be_off_by_rounding_and_percent_is_a_kind_of_its_own():
    assert read("id,p_cat,p_dog\na,0.333,0.663\n", SHARES).votes.tolist() == [[0.333, 0.663]]
    assert read("id,p_cat,p_dog\na,33.3,66.6\n", PERCENT).votes.tolist() == [[33.3, 66.6]]


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("id,p_cat,p_dog\na,33.3,66.7\n", SHARES, r"sum to 1 .*got 100 \(33.3, 66.7\).*line 2 \(a\).*never gu"),
        ("id,p_cat,p_dog\na,0.3,0.7\n", PERCENT, "percent must sum to 100 over the classes, got 1 "),
        ("id,p_cat,p_dog\na,0.3,0.7\nb,0.3,0.3\n", SHARES, r"got 0.6 .*line 3 \(b\)"),
        ("id,n_cat,n_dog\na,0.3,0.7\n", COLUMNS, "counts must be whole numbers, got 0.3, 0.7"),
        ("id,n_cat,n_dog\na,0,0\n", COLUMNS, "counts must hold at least one vote, got 0"),
        ("id,n_cat,n_dog\na,-1,2\n", COLUMNS, "n_cat must lie in 0..1,000,000,000, got -1"),
        ("id,n_cat,n_dog\na,inf,2\n", COLUMNS, "n_cat must lie in 0..1,000,000,000, got inf"),
        ("id,n_cat,n_dog\na,1e300,1e300\n", COLUMNS, "got 1e300"),
        ("id,n_cat,n_dog\na,nan,2\n", COLUMNS, "n_cat must lie in 0..1,000,000,000, got nan"),
        ("id,n_cat,n_dog\na,,2\n", COLUMNS, "n_cat must be a number, got ''"),
        ("id,n_cat,n_dog\na,three,2\n", COLUMNS, "n_cat must be a number, got 'three'"),
        ("id,n_cat,n_dog\n,1,2\n", COLUMNS, "id must name each case, got none .*line 2"),
        ("id,n_cat\na,1\n", COLUMNS, "must have a column n_dog; it has id, n_cat"),
        ("id,n_cat,n_dog\na,1,2\na,2,1\n", COLUMNS, "one row a case, got another on a at line 3"),
        ("id,n_cat,n_dog\n", COLUMNS, "at least one row"),
        ("", COLUMNS, "it is empty"),
        ("id,n_cat,n_dog\na,1\n", COLUMNS, "3 fields in each row, got 2 at line 2"),
        ("\0\1\2", COLUMNS, "NUL"),
    ],
)
def test_a_bad_table_is_refused_by_line_and_reason(text, columns, message):
    with pytest.raises(ValueError, match=message):
        read(text, columns)


def test_a_row_that_says_the_same_again_counts_once():
    table = read("id,n_cat,n_dog\na,1,2\na,1,2\nb,1,0\n")
    assert (table.ids.tolist(), table.repeats) == (["a", "b"], 1)


def test_the_label_may_come_from_other_columns_than_the_votes():
    columns = VoteColumns("id", COLUMNS.classes, "counts", scores={"cat": "d_cat", "dog": "d_dog"})
    table = read("id,n_cat,n_dog,d_cat,d_dog\na,5,1,0.2,0.9\n", columns)
    assert (majority(table.votes).tolist(), majority(table.scores).tolist()) == ([0], [1])
    with pytest.raises(ValueError, match="d_cat, d_dog must not all be 0"):
        read("id,n_cat,n_dog,d_cat,d_dog\na,5,1,0,0\n", columns)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "fractions"}, "kind must be one of 'counts', 'shares', 'percent'"),
        ({"classes": {"cat": "n"}}, "classes must be two or more"),
        ({"classes": {"cat": "n", "dog": "n"}}, "each with a column of its own"),
        ({"scores": {"cat": "n"}}, "scores must be of the classes"),
    ],
)
def test_columns_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        VoteColumns(**{"case": "id", "classes": COLUMNS.classes, "kind": "counts", **settings})


def test_votes_are_stored_small_and_without_loss():
    assert in_small_type(COUNTS.astype(float)).dtype == np.uint16
    shares = in_small_type(shares_of(COUNTS))
    assert shares.dtype == np.float32
    np.testing.assert_allclose(shares, shares_of(COUNTS), rtol=1e-6)


# The images of a table.


def put(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_images_are_found_by_name_never_by_position(tmp_path):
    put(tmp_path, "deep/b.JPG", "a.png", "stray.jpg", "c.txt")
    table = read("id,n_cat,n_dog\nb,1,2\na,1,2\n")
    assert [path.name for path in find_images(table, tmp_path)] == ["b.JPG", "a.png"]


def test_missing_images_are_counted_and_the_first_are_named(tmp_path):
    put(tmp_path, "c3.jpg")
    table = read("id,n_cat,n_dog\n" + "".join(f"c{number},1,2\n" for number in range(6)))
    with pytest.raises(FileNotFoundError, match=r"lacks the images of 5 of the 6 cases: c0, c1, c2, \.\.\."):
        find_images(table, tmp_path)
    with pytest.raises(FileNotFoundError, match="no folder"):
        find_images(table, tmp_path / "nowhere")


def test_two_images_of_one_name_are_refused(tmp_path):
    put(tmp_path, "one/a.jpg", "two/a.png", "b.jpg", "one/stray.jpg", "two/stray.jpg")
    with pytest.raises(ValueError, match="each image must be there once"):
        find_images(read("id,n_cat,n_dog\na,1,2\n"), tmp_path)
    assert find_images(read("id,n_cat,n_dog\nb,1,2\n"), tmp_path) == [tmp_path / "b.jpg"]  # strays do no harm


def test_a_case_may_be_named_with_the_ending_of_its_file(tmp_path):
    put(tmp_path, "a.jpg", "b.png")
    table = read("id,n_cat,n_dog\nb.png,1,2\na.jpg,1,2\n")
    assert [path.name for path in find_images(table, tmp_path)] == ["b.png", "a.jpg"]


def test_a_table_that_names_files_is_followed_but_not_out_of_the_folder(tmp_path):
    put(tmp_path, "in/x.jpg", "secret.jpg")
    columns = VoteColumns("id", COLUMNS.classes, "counts", file="file")
    table = read("id,file,n_cat,n_dog\na,x.jpg,1,2\n", columns)
    assert find_images(table, tmp_path / "in") == [tmp_path / "in" / "x.jpg"]
    for escape in ("../secret.jpg", str(tmp_path / "secret.jpg")):
        with pytest.raises(ValueError, match="images must lie in"):
            find_images(read(f"id,file,n_cat,n_dog\na,{escape},1,2\n", columns), tmp_path / "in")
