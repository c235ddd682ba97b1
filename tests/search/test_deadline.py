"""The time by which an answer is wanted, by a clock that is set by hand."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sicetnon.search import Deadline
from sicetnon.search.deadline import CAUTION, KEPT_BACK


class Clock:
    """Shows what it is set to."""

    def __init__(self) -> None:
        """Begin late in the life of the machine."""
        self.now = 5_000.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def test_by_hand() -> None:
    """Another piece is begun as long as one that is half as long again as the longest yet ends in time."""
    clock = Clock()
    deadline = Deadline(10.0, clock=clock)  # of which 0.3 are kept back
    told = []
    for piece in (2.0, 1.0, 3.0, 0.1, 0.1):
        told.append(deadline.allows_another())
        clock.now += piece
    assert told == [True, True, True, False, False]  # 6 + 1.5 * 3 would be too late, and so is whatever comes after
    assert clock.now == pytest.approx(5_006.2)


@pytest.mark.parametrize(("seconds", "kept"), [(1.0, 0.3), (10.0, 0.3), (20.0, 0.6), (1_000.0, 30.0)])
def test_kept_back(seconds: float, kept: float) -> None:
    """A share of the time, and three tenths of a second at least, is left for writing the answer."""
    assert kept == max(KEPT_BACK[0] * seconds, KEPT_BACK[1])
    clock = Clock()
    before, after = Deadline(seconds, clock=clock), Deadline(seconds, clock=clock)
    clock.now += seconds - kept - 1e-6
    assert before.allows_another()
    clock.now += 2e-6
    assert not after.allows_another()


@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.3])
def test_no_time(seconds: float) -> None:
    """Where there is less than is kept back, not even the first piece is begun."""
    assert not Deadline(seconds, clock=Clock()).allows_another()


def test_time_that_is_gone_already() -> None:
    """What was spent before counts."""
    clock = Clock()
    assert Deadline(5.0, spent=4.6, clock=clock).allows_another()
    assert not Deadline(5.0, spent=4.7, clock=clock).allows_another()
    assert not Deadline(5.0, spent=60.0, clock=clock).allows_another()


def test_time_before_the_first_piece_is_no_piece() -> None:
    """How long it took until the first piece was begun says nothing of how long a piece takes."""
    clock = Clock()
    deadline = Deadline(10.0, clock=clock)
    clock.now += 9.0
    assert deadline.allows_another()
    clock.now += 0.1
    assert deadline.allows_another()


@given(st.floats(0, 100), st.lists(st.floats(0.01, 10), min_size=1, max_size=30))
def test_is_kept(seconds: float, pieces: list[float]) -> None:
    """Unless a piece takes longer than the caution allows, the last one that was begun ends in time."""
    clock = Clock()
    deadline = Deadline(seconds, clock=clock)
    end = clock.now + seconds - max(KEPT_BACK[0] * seconds, KEPT_BACK[1])
    longest = None
    for piece in pieces:
        if not deadline.allows_another():
            return
        clock.now += piece if longest is None else min(piece, CAUTION * longest)
        assert longest is None or clock.now <= end + 1e-6
        longest = max(longest or 0.0, min(piece, CAUTION * (longest or piece)))


def test_real_clock() -> None:
    """Without another clock it is the machine's, which nobody sets back."""
    before = time.monotonic()
    assert Deadline(60.0).allows_another()
    assert not Deadline(60.0, spent=60.0).allows_another()
    assert Deadline(1.0)._end - before == pytest.approx(0.7, abs=0.2)
