"""The words below a film: who is who, as wide as the pictures."""

import jax
import jax.numpy as jnp
import numpy as np

from maestro.analysis import caption, film
from maestro.envs.players import Random
from maestro.evaluation.play import episode
from maestro.games import Drawing
from maestro.games.lasertag import GAME as LASERTAG
from probes import Level, Probe


def square(level, state, scale):
    """A picture of 4 x 6 cells."""
    return np.full((4 * scale, 6 * scale, 3), int(state.time), np.uint8)


def frames(draw, names=("the student", "another")):
    """The film of a game of two steps."""
    game, level, player = Probe(2), Level(jnp.int32(0), jnp.int32(9)), Random(Probe.action)
    return film.frames_of(draw, level, episode(jax.random.key(0), game, level, player, player, 9), names)


def test_a_film_is_large_enough_to_look_at():
    pictures = frames(Drawing(picture=square))
    assert [picture.shape for picture in pictures] == [(320, 480, 3)] * 3
    assert [int(picture.max()) for picture in pictures] == [0, 1, 2]


def test_a_film_says_below_every_picture_who_is_who():
    pictures = frames(Drawing(picture=square, seats=("red", "blue")))
    words = caption.bar("red: the student, blue: another", 480)
    assert len(pictures) == 3 and words.max() > 200  # there is ink
    assert all((picture[320:] == words).all() for picture in pictures)


def test_every_seat_is_named_with_its_player():
    assert caption.who_is_who(("red", "blue"), ("A", "B")) == "red: A, blue: B"
    assert caption.who_is_who((), ("A", "B")) == ""
    assert LASERTAG.draw.seats == ("red", "blue")


def test_words_that_do_not_fit_go_onto_more_lines_and_never_beyond_the_picture():
    one, many = caption.bar("short", 300), caption.bar("a long name " * 40, 300)
    assert one.shape[1] == many.shape[1] == 300
    assert one.shape[0] < many.shape[0] == 2 * caption.MARGIN + caption.MAX_LINES * (caption.SIZE + 4)
    assert (many[:, -1] == np.array(caption.PAPER)).all()
