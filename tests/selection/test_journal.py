"""A journal is whole on disk at every moment, and a search that reads it computes nothing twice."""

import hashlib
import io
import os
from dataclasses import replace

import numpy as np
import pytest

from logikern.selection.journal import FORMAT, Entry, Journal, opened, read, write
from logikern.structure.covariance import CovarianceGradient


def gradient(generator, n_parameters):
    by_kernels, by_functions = generator.standard_normal(n_parameters), generator.standard_normal(2 * n_parameters)
    return CovarianceGradient((by_kernels,), by_functions, 0.5 * n_parameters)


def entry(number, usable=True, n_parameters=2, state=None):
    generator = np.random.default_rng(number)
    return Entry(
        generator.standard_normal(n_parameters),
        float(generator.random()) if usable else np.inf,
        gradient(generator, n_parameters if usable else 0),
        generator.random(5 if usable else 0),
        usable,
        number,
        0.25 * number,
        state=state,
    )


STATE = np.random.default_rng(9).standard_normal((2, 3, 4))
ENTRIES = (entry(0), entry(1, usable=False), entry(2, n_parameters=7, state=STATE))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.npz"


@pytest.fixture
def written(path):
    write(Journal(path, "mark", list(ENTRIES)))
    return path


def parts(entry):
    """All that an entry holds, one after the other."""
    by_kernels, by_functions, by_bias, by_mixing = entry.gradient
    numbers = (entry.value, entry.usable, entry.n_products, entry.seconds, by_bias)
    return [entry.point, entry.losses, *by_kernels, by_functions, by_mixing, *numbers]


def same(left, right):
    return all(np.array_equal(a, b) and type(a) is type(b) for a, b in zip(parts(left), parts(right), strict=True))


def refuse():
    raise AssertionError("nothing should be computed")


def test_entries_come_back(written):
    found = read(written, "mark").entries
    assert len(found) == len(ENTRIES) and all(map(same, found, ENTRIES))


def test_state_comes_back(written):
    assert np.array_equal(read(written, "mark").entries[-1].state, STATE)


def test_state_belongs_to_the_evaluation_that_had_it(path):
    journal = Journal(path, "mark")
    for own in (entry(0, state=STATE), entry(1, state=2 * STATE), entry(2), entry(3, usable=False)):
        journal.answer(own.point, lambda own=own: own)
    for found in (journal.entries, read(path, "mark").entries):
        assert [own.state is None for own in found] == [True, False, True, True]
        assert np.array_equal(found[1].state, 2 * STATE)


def test_derivatives_come_back(path):
    derivatives = np.random.default_rng(0).standard_normal(4)
    write(Journal(path, "mark", [replace(entry(0), derivatives=derivatives), entry(1)]))
    found = read(path, "mark").entries
    assert np.array_equal(found[0].derivatives, derivatives) and not found[1].derivatives.size


def test_journal_without_state_comes_back(path):
    write(Journal(path, "mark", [ENTRIES[1]]))
    assert read(path, "mark").entries[0].state is None


def test_reading_begins_at_the_first_entry(written):
    assert read(written, "mark").replaying


def test_no_file_is_an_empty_journal(path):
    found = read(path, "mark")
    assert not found.replaying and found.path == path


def test_known_answers_are_given_in_their_order(written):
    journal = read(written, "mark")
    assert all(same(journal.answer(own.point, refuse), own) for own in ENTRIES)


def test_new_answers_follow_known_ones(written):
    journal = read(written, "mark")
    for own in ENTRIES:
        journal.answer(own.point, refuse)
    new = entry(3)
    assert journal.answer(new.point, lambda: new) is new


def test_every_new_answer_is_on_disk_at_once(path):
    journal = Journal(path, "mark")
    for number, own in enumerate(ENTRIES, 1):
        journal.answer(own.point, lambda own=own: own)
        assert len(read(path, "mark").entries) == number


def test_state_is_that_of_the_last_usable_answer(path):
    journal = Journal(path, "mark")
    for own in (entry(0, state=STATE + 1), entry(2, state=STATE), ENTRIES[1]):
        journal.answer(own.point, lambda own=own: own)
    first, last, failed = read(path, "mark").entries
    assert np.array_equal(last.state, STATE) and first.state is None and failed.state is None


def test_journal_without_a_path_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Journal().answer(ENTRIES[0].point, lambda: ENTRIES[0])
    assert not list(tmp_path.iterdir())


class KilledError(BaseException):
    """What no handler expects, as a stand-in for the end of the process."""


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_end_during_a_write_leaves_the_old_journal(written, monkeypatch, call):
    def end(*arguments):
        raise KilledError

    before = written.read_bytes()
    journal = read(written, "mark")
    journal.cursor = len(ENTRIES)
    monkeypatch.setattr(os, call, end)
    with pytest.raises(KilledError):
        journal.answer(entry(3).point, lambda: entry(3))
    assert written.read_bytes() == before


def test_failed_write_leaves_no_other_file(written, monkeypatch):
    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write(Journal(written, "mark", [entry(3)]))
    assert list(written.parent.iterdir()) == [written]


def test_file_is_complete_before_it_takes_its_name(path, monkeypatch):
    sizes = []
    replace = os.replace

    def look(temporary, target):
        sizes.append(os.path.getsize(temporary))
        replace(temporary, target)

    monkeypatch.setattr(os, "replace", look)
    write(Journal(path, "mark", list(ENTRIES)))
    assert sizes == [path.stat().st_size]


def test_end_during_the_first_write_leaves_nothing(path, monkeypatch):
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(TypeError):
        write(Journal(path, "mark", [entry(0)]))
    assert read(path, "mark").entries == []


def test_other_fingerprint_is_refused(written):
    with pytest.raises(ValueError, match="other data or other settings"):
        read(written, "other")


def test_other_format_is_refused(written):
    written.write_bytes(written.read_bytes().replace(f"logikern search {FORMAT} ".encode(), b"logikern search 3 ", 1))
    with pytest.raises(ValueError, match="another version of logikern. Delete it"):
        read(written, "mark")


def save_arrays(path):
    with open(path, "wb") as stream:
        np.savez(stream, weights=np.ones(3))


def save_array(path):
    with open(path, "wb") as stream:
        np.save(stream, np.ones(3))


def save_objects(path):
    with open(path, "wb") as stream:
        np.savez(stream, fingerprint=np.array([{"a": 1}], dtype=object))


FOREIGN = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("rate,variance\n1,2\n"),
    "arrays of another program": save_arrays,
    "one array": save_array,
    "objects": save_objects,
    "folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_file_that_is_no_journal_is_refused(path, kind):
    FOREIGN[kind](path)
    with pytest.raises(ValueError, match="must be a file that an earlier search wrote.* Choose another path"):
        read(path, "mark")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_cut_off_journal_is_refused(written, part):
    content = written.read_bytes()
    written.write_bytes(content[: int(part * len(content))])
    with pytest.raises(ValueError, match="Delete it, or choose another path"):
        read(written, "mark")


@pytest.mark.parametrize(
    "array", [STATE, ENTRIES[0].losses, ENTRIES[2].gradient.variances], ids=["state", "losses", "gradient"]
)
def test_damaged_journal_is_refused(written, array):
    content = bytearray(written.read_bytes())
    content[content.index(array.tobytes())] ^= 0xFF
    written.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="Delete it"):
        read(written, "mark")


@pytest.mark.parametrize("other", [b"(), }", b"(1, 3, 400), }", b"(2, 2), }"])
def test_changed_shape_is_refused(path, other):
    # NumPy then reads fewer bytes, and zip compares the checksum of a long array only at its end.
    write(Journal(path, "mark", [entry(0, state=np.ones((2, 3, 400)))]))
    content, shape = path.read_bytes(), b"(2, 3, 400), }"
    assert content.count(shape) == 1
    path.write_bytes(content.replace(shape, other.ljust(len(shape))))
    with pytest.raises(ValueError, match="is damaged.*Delete it, or choose another path"):
        read(path, "mark")


def comes_back(path):
    """Whether a file gives back all that was written; one clear error is no failure."""
    try:
        found = read(path, "mark")
    except ValueError as error:
        assert str(path) in str(error) and "delete" in str(error).lower()
        return True
    return len(found.entries) == len(ENTRIES) and all(map(same, found.entries, ENTRIES)) and same_state(found)


def same_state(journal):
    return journal.entries[-1].state is not None and np.array_equal(journal.entries[-1].state, STATE)


def test_journal_cut_off_anywhere_is_refused_or_whole(written):
    length = written.stat().st_size
    while length > 0:
        length -= min(length, 7)
        os.truncate(written, length)
        assert comes_back(written), length


def test_journal_with_a_flipped_bit_is_refused_or_whole(written):
    content, random = written.read_bytes(), np.random.default_rng(30)
    for place, bit in zip(random.integers(len(content), size=500), random.integers(8, size=500), strict=True):
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        written.write_bytes(damaged)
        assert comes_back(written), (place, bit)


def test_arrays_of_another_kind_behind_a_right_checksum_are_refused(path):
    buffer = io.BytesIO()
    np.savez(buffer, fingerprint=np.array("mark"), numbers=np.array(["many"]))
    checksum = hashlib.sha256(buffer.getvalue()).hexdigest()
    path.write_bytes(f"logikern search {FORMAT} {checksum}\n".encode() + buffer.getvalue())
    with pytest.raises(ValueError, match="is damaged"):
        read(path, "mark")


def test_journal_is_for_one_search_at_a_time(path):
    with opened(path, "mark"), pytest.raises(ValueError, match="in use by another search"), opened(path, "mark"):
        pass


def test_link_to_a_journal_stays_a_link(written, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(written)
    with opened(link, "mark") as journal:
        journal.cursor = len(ENTRIES)
        journal.answer(entry(3).point, lambda: entry(3))
    assert link.is_symlink() and len(read(written, "mark").entries) == len(ENTRIES) + 1


def test_what_a_killed_write_left_is_overwritten(path):
    path.with_name(f".{path.name}.new").write_bytes(b"half a journal")
    write(Journal(path, "mark", list(ENTRIES)))
    assert list(path.parent.iterdir()) == [path]


def test_refused_file_is_left_as_it_was(path):
    path.write_text("my notes")
    with pytest.raises(ValueError):
        read(path, "mark")
    assert path.read_text() == "my notes"


def test_question_that_the_journal_does_not_know_is_refused(written):
    journal = read(written, "mark")
    with pytest.raises(ValueError, match="another search"):
        journal.answer(ENTRIES[0].point + 1e-3, refuse)


@pytest.mark.parametrize("size", [0, 1, 3])
def test_question_with_another_number_of_parameters_is_refused(written, size):
    journal = read(written, "mark")
    with pytest.raises(ValueError, match="another search"):
        journal.answer(np.full(size, ENTRIES[0].point[0]), refuse)
