"""`--help` of a command that takes settings: every one with its sentence and its default."""

import re
from dataclasses import fields, is_dataclass

import jax
import pytest

from maestro import cli
from maestro.config import leaves
from maestro.games.lasertag import GAME
from test_settings import fields_and_sentences

PAPER = GAME.presets["paper"]


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def words_of(out):
    """What help says of the options, without the frames around it."""
    return " ".join(out.replace("│", " ").partition("show this help message")[2].split())


@pytest.mark.parametrize("preset", GAME.presets)
def test_help_shows_every_setting_with_its_sentence_and_its_default_in_the_preset(capsys, preset):
    code, out, _ = call(capsys, "train", "lasertag", "--preset", preset, "--help")
    assert code == 0
    text = words_of(out)
    for path, setting, value in leaves(GAME.presets[preset]):
        if path != "game":
            option = re.escape("--" + path.replace("_", "-"))
            described = re.search(rf"{option},? (?:.*?)\(default: (.*?)\)", text)
            shown = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            assert described and described[1] == (shown or "''"), path
            assert described[0].count(" --") <= (setting.kind is bool), described[0]


def test_help_shows_the_sentence_under_every_setting_and_nothing_that_the_game_decides(capsys):
    text = words_of(call(capsys, "train", "lasertag", "--help")[1])
    shown = 0
    groups = [PAPER, *(getattr(PAPER, field.name) for field in fields(PAPER))]
    for group in filter(is_dataclass, groups):
        for name, annotation, sentence in fields_and_sentences(type(group)):
            if "Given" in annotation:
                assert f"--agent.{name.replace('_', '-')}" not in text
            elif sentence and name not in ("game", "environment", "agent"):
                assert " ".join(sentence.split()) in text, name
                shown += 1
    assert shown == len(list(leaves(PAPER))) - 1


@pytest.mark.parametrize(("device", "usual"), [("cpu", "tiny"), ("gpu", "fast"), ("tpu", "fast")])
def test_help_shows_the_usual_preset_if_none_is_asked_for(capsys, monkeypatch, device, usual):
    monkeypatch.setattr(jax, "default_backend", lambda: device)
    asked = call(capsys, "train", "lasertag", "--preset", usual, "--help")[1]
    for words in ([], ["lasertag"], ["lasertag", "--preset", "big"], ["-h"]):
        assert call(capsys, "train", *words, "--help")[:2] == (0, asked)
    assert f"(default: {usual})" in words_of(asked)


@pytest.mark.parametrize("command", [*cli.COMMANDS, "levels list", "levels show", "levels sample"])
def test_no_help_shows_a_default_that_is_none(capsys, command):
    assert "None)" not in " ".join(call(capsys, *command.split(), "--help")[1].replace("│", " ").split())
