"""What a Japanese question is built of, apart from what it is about: particles, copulas, endings of verbs.

Without a dictionary, from how the language is written: what says something begins with a Chinese character
or is in katakana, and what is in hiragana alone says how the sentence is built, but for words of one's own.
"""

from __future__ import annotations

import re

__all__ = ["without_endings"]

_KANA = r"\u3041-\u309f"
_BUILT = (
    r"(?:おこなわ|行わ|なら|され|でき|使わ|思わ)(?:れて|れ|て)?(?:います?か?|ますか?|ました|ません|る|た)"
    r"|(?:では|じゃ)?(?:ありません|ありますか|あります|ないです|ない)|ございます(?:か)?"
    r"|(?:どのように|どうやって|どうすれば|どうして|どういう|どんな|どこ|どれ|どの|どう|なぜ|なに|いつ|だれ|いくつ|いくら)"
    r"|だけ|(?:でしょう|でした|です|ですか|ますか|ました|ません|ましょう|ます|だった|だ)(?:か|が|ね|よ)?"
    r"|(?:して|されて|され|させ|し)(?:いる|いた|います|いました|ある|ください|おく|ほしい|る|た|ます|ました|ません)か?"
    r"|して|され|させ"
    r"|(?:すれば|すると|するに|する|すべき)(?:は)?|(?:よい|いい)(?:です)?か?|ください|くださ|教えて"
    r"|(?:について|において|によって|による|により|に関する|として|とは|には|では|からの|までの|への|との|から|まで"
    r"|より|ほど|など|しか|ながら|ための|ために|ため|こと|もの|とき|ところ|これ|それ|あれ|この|その|あの|また|および)"
)
_RUN = re.compile(rf"(?P<before>[\u3005-\u3007\u30a0-\u30ff\u3400-\u9fff])?(?P<run>[{_KANA}]+)")
_TAKEN = re.compile(_BUILT)
_SAYS = re.compile(r"\w")
_PARTICLES = "はがをにでとのもへやか"
_LEAST = 2


def without_endings(text: str) -> str:
    """Return a question without what builds a Japanese sentence, spaces in its place; others as they are.

    A word in hiragana stands, if it is no such ending; of a verb the first letters after the character stand.

    A question of nothing else stays.

    Example:
        >>> without_endings("認証はどのようにおこなわれますか?").split()
        ['認証', '?']
        >>> without_endings("はがきの値段の違いはいくらですか").split()
        ['はがき', '値段', '違い']
        >>> without_endings("how is it paid?")
        'how is it paid?'
    """
    if text.isascii():
        return text
    left = _RUN.sub(_left_of, text)
    return left if _SAYS.search(left) else text


def _left_of(found: re.Match[str]) -> str:
    before = found["before"] or ""
    parts = _TAKEN.sub(" ", found["run"]).split(" ")
    left = []
    for i, part in enumerate(parts):
        # What begins a sentence is a word, what stands after one may be a particle.
        own = part.rstrip(_PARTICLES) if i == 0 and not before else part.strip(_PARTICLES)
        is_of_verb = i == 0 and before > "\u3400" and part.startswith(own)
        left.append(own if len(own) >= _LEAST or is_of_verb else "")
        if i == 0 and before and not part.startswith(own):
            left[0] = f" {left[0]}"
    spaced = " ".join(left)
    return before + (spaced if spaced == found["run"] else f"{spaced} ")
