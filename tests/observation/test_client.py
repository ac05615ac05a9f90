"""Tests of asking: tags, other answers in between, and a daemon that says nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import pytest

from monitor.observer.datagrams import (
    Datagram,
    GetInfo,
    Info,
    InfoBetween,
    RegistrationAnswer,
    SensorEstimate,
    decode,
    encode,
)
from monitor.observer.observer import Registration
from monitor.samples import SensorKind
from observation.client import ATTEMPTS, ObserverClient, ObserverSilent

ESTIMATE = SensorEstimate(SensorKind.APP_SND, 0.5, 1.0, 1000.0)


def answered(
    ask: Callable[[ObserverClient], object], answers: Callable[[Datagram, int], list[bytes]]
) -> object:
    """What a client makes of these answers to the question and how often it was asked."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.settimeout(60)
        over = threading.Event()

        def serve() -> None:
            asked = 0
            while not over.is_set():
                data, address = bound.recvfrom(1000)
                if not data:
                    return
                asked += 1
                for answer in answers(decode(data), asked):
                    bound.sendto(answer, address)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with ObserverClient(*bound.getsockname(), patience=0.1) as client:
                return ask(client)
        finally:
            over.set()
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"", bound.getsockname())
            thread.join()


def test_the_answer_with_the_question_s_tag_counts() -> None:
    def answers(said: Datagram, _: int) -> list[bytes]:
        assert isinstance(said, GetInfo)
        other = Info((), said.tag + 1)
        return [encode(other), encode(Info((ESTIMATE,), said.tag))]

    assert answered(lambda client: client.getinfo(7), answers) == (ESTIMATE,)


def test_noise_and_silence_have_it_ask_again() -> None:
    def answers(said: Datagram, asked: int) -> list[bytes]:
        assert isinstance(said, GetInfo)
        return [[], [b"noise"], [encode(Info((), said.tag))]][asked - 1]

    assert answered(lambda client: client.getinfo(7), answers) == ()


def test_an_answer_to_another_question_is_none() -> None:
    def other(said: Datagram, _: int) -> list[bytes]:
        return [encode(RegistrationAnswer(7, Registration.DONE, getattr(said, "tag", 0)))]

    def info(said: Datagram, _: int) -> list[bytes]:
        return [encode(Info((), getattr(said, "tag", 0)))]

    for ask, answers in (
        (lambda client: client.getinfo(7), other),
        (lambda client: client.getinfo_between("a", "b"), info),
        (lambda client: client.unregister(7, SensorKind.APP_SND), info),
    ):
        with pytest.raises(ObserverSilent):
            answered(ask, answers)


def test_both_other_questions_have_their_answers() -> None:
    def answers(said: Datagram, _: int) -> list[bytes]:
        tag = getattr(said, "tag", 0)
        if hasattr(said, "connection"):
            return [encode(RegistrationAnswer(7, Registration.FULL, tag))]
        return [encode(InfoBetween(2, 0.5, 1.0, 5000.0, tag))]

    found = answered(lambda one: one.register(7, SensorKind.APP_RCV, "a", "b"), answers)
    assert found is Registration.FULL
    between = answered(lambda one: one.getinfo_between("a", "b"), answers)
    assert isinstance(between, InfoBetween)
    assert (between.connections, between.rate) == (2, 5000.0)


def test_where_nobody_answers_it_gives_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        client = ObserverClient(*bound.getsockname(), patience=0.01)
        with pytest.raises(ObserverSilent):
            client.getinfo(7)
        bound.setblocking(False)
        assert len([bound.recv(100) for _ in range(ATTEMPTS)]) == ATTEMPTS
        client.close()
    gone = ObserverClient("127.0.0.1", 9, patience=0.01)
    with pytest.raises(ObserverSilent):
        gone.getinfo(7)
    gone.close()
