import socket

import pytest

from runner.lifeline import Lifeline


@pytest.fixture
def ends():
    """A lifeline, and the other ends of the connections that it made."""
    made = []
    ours = []

    def connect():
        near, far = socket.socketpair()
        made.append(far)
        ours.append(near)
        return near
    yield Lifeline(connect), made
    for each in made + ours:
        each.close()


def test_an_engine_that_stays_has_one_life(ends):
    line, others = ends
    assert [line.lives(), line.lives()] == [1, 1] and len(others) == 1


def test_what_the_engine_says_meanwhile_is_no_end(ends):
    line, others = ends
    line.lives()
    others[0].sendall(b"something happened")
    assert line.lives() == 1


def test_an_engine_that_ended_and_another_in_its_place_are_two_lives(ends):
    line, others = ends
    line.lives()
    others[0].sendall(b"last words")
    others[0].close()
    assert [line.lives(), line.lives()] == [2, 2]


def test_while_there_is_no_engine_nothing_is_counted():
    def refused():
        raise ConnectionRefusedError
    line = Lifeline(refused)
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError):
            line.lives()
