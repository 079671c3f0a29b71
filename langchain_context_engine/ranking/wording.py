"""What a question in another language than English asks, read from the tables of `tongues.py`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from langchain_context_engine.ranking.tongues import TONGUES, Tongue
from langchain_context_engine.text.endings import without_endings
from langchain_context_engine.text.memo import remember

__all__ = ["AIMS", "Wording", "says", "wording_of"]

AIMS = ("code", "use", "history", "commits", "tests")
"""What a language has words for, of what a question may be after."""

_ANY = re.compile("")
_SO_MANY = re.compile(
    r"(?<![\w.])\d{1,3}(?![\w.])|(?<=[^\x00-\u02ff])\d{1,3}(?=[^\x00-\u02ff])", re.IGNORECASE
)

_PARTICLE = re.compile(r"(?<!\w)[\u3041-\u309f\uac00-\ud7af](?!\w)")


@dataclass(frozen=True, slots=True)
class Wording:
    """How a question in another language asks for the newest.

    Attributes:
        rest: The question without the words that ask.
        is_release: Of releases.
        is_record: Of what people wrote down.
        number: So many; None says nothing.
        is_several: It speaks of several.
        is_one: It speaks of one.
    """

    rest: str
    is_release: bool
    is_record: bool
    number: int | None
    is_several: bool
    is_one: bool


def _words(alternatives: str, *, is_spaced: bool) -> re.Pattern[str]:
    """Return what finds any of the alternatives, of a spaced script as words; without any, nothing."""
    if not alternatives:
        return re.compile(r"(?!)")
    bound = r"\b" if is_spaced else ""
    return re.compile(rf"{bound}(?:{alternatives}){bound}", re.IGNORECASE)


def _asking(tongue: Tongue) -> re.Pattern[str]:
    """Return what finds that the newest is asked for."""
    if not tongue.is_spaced:
        near = r"[^\s。?!]{0,6}?\s?"
        return re.compile(rf"{tongue.newest}|(?:{tongue.last}){near}(?:{tongue.things})", re.IGNORECASE)
    last, things = tongue.last, tongue.things
    return re.compile(
        rf"\b(?:{tongue.newest})\b|\b(?:{last})\W{{1,3}}(?:\w{{1,30}}\W{{1,3}}){{0,2}}?(?:{things})\b"
        rf"|\b(?:{things})\W{{1,3}}(?:\w{{1,30}}\W{{1,3}})?(?:{last})\b",
        re.IGNORECASE,
    )


_NEEDS = {tongue: re.compile(tongue.needs) if tongue.needs else _ANY for tongue in TONGUES}
_ASKING = {tongue: _asking(tongue) for tongue in TONGUES}
_SAYS = {
    tongue: {
        name: _words(getattr(tongue, name), is_spaced=tongue.is_spaced)
        for name in ("releases", "records", "several", *AIMS)
    }
    for tongue in TONGUES
}
_SAID = {
    tongue: _words(
        f"{tongue.newest}|{tongue.last}|{tongue.things}|{tongue.releases}|{tongue.said}",
        is_spaced=tongue.is_spaced,
    )
    for tongue in TONGUES
}


@remember(2**20)
def wording_of(query: str) -> Wording | None:
    """Return how a question asks for the newest in another language than English; None where it does not.

    Example:
        >>> wording_of("Was ist die letzte Änderung am Router?").rest.split()
        ['Router?']
        >>> wording_of("das letzte Element der Liste") is None
        True
    """
    about = without_endings(query)
    for tongue in _spoken(query):
        if _ASKING[tongue].search(query) is None:
            continue
        says = _SAYS[tongue]
        is_record = says["records"].search(query) is not None
        rest = _SAID[tongue].sub(" ", says["records"].sub(" ", about) if is_record else about)
        number = _SO_MANY.search(query)
        is_release = says["releases"].search(query) is not None
        # The changes of one release are asked of that one.
        is_several = any(
            not is_release or says["releases"].fullmatch(found[0])
            for found in says["several"].finditer(query)
        )
        return Wording(
            rest=_PARTICLE.sub(" ", _SO_MANY.sub(" ", rest)),
            is_release=is_release,
            is_record=is_record,
            number=None if number is None else int(number[0]),
            is_several=is_several,
            # Where one and several are spelled alike, one release is meant, and of the rest some.
            is_one=not is_several and (bool(tongue.several) or is_release),
        )
    return None


def says(query: str, aim: str) -> bool:
    """Return whether a question is after something, of `AIMS`, in another language than English.

    Example:
        >>> says("なぜ削除されたのですか?", "history"), says("why?", "history")
        (True, False)
    """
    return any(_SAYS[tongue][aim].search(query) for tongue in _spoken(query))


def _spoken(query: str) -> Iterable[Tongue]:
    return (tongue for tongue in TONGUES if _NEEDS[tongue].search(query))
