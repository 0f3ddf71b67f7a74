"""Keywords: what of a text's words says what it is about, in English, Korean, Chinese and Japanese.

A keyword is a stem: "rotated" and "rotations" are one, "설정을" and "설정은" too. The stemming is light, made to bring
forms of a word together within one store, not to be right about grammar; a morphological analyser for Korean takes 80
MB and a second to start. Everything is linear in the text.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST = 40  # characters of a word; longer ones are hashes and data
_SHORTEST_STEM = 3  # letters an English stem keeps
# Identifiers and file names are one word; so is a run of Hangul, kana or Han.
_LATIN = "A-Za-zÀ-ɏЀ-ӿ"
_WORD = (
    rf"(?<![0-9{_LATIN}])[{_LATIN}_][{_LATIN}0-9_]*(?:[./-][{_LATIN}0-9_]+){{0,6}}"
    r"|[가-힣]+|[ァ-ヶー]{2,}|[一-鿿]{2,}"
)
# In the order in which they are tried, with what takes their place.
_ENGLISH_ENDINGS = (
    ("ies", "y"),
    ("ations", "ate"),
    ("ation", "ate"),
    ("ings", ""),
    ("ing", ""),
    ("ed", ""),
    ("es", "e"),
    ("s", ""),
)
# English words that carry no topic, and those every agent's report is full of.
_STOP = """
    pass passed passes understand contain contains confirm confirmed confirming correct actually real exist exists code
    a about above after again against all also although always am an and another any anything are around as at back
    be became because been before being below between both but by call called can cannot case cause change changed
    changes check checked checking clear com come could current currently did different do does doing done down
    during each either else end ensure etc even every everything exactly existing false file files find first fix
    fixed following for found from full further get getting gets give given go going good got great had happen
    happens has have having he help her here him his how however http https i if implement implemented in including
    instead into is issue it its itself just keep kept know last let like line lines ll look looking looks lot made
    make makes making many may maybe me might more most much must my need needed needs neither never new next no
    none nor not note nothing now null of off ok okay old on once one only or other others our out over own part
    perfect perhaps please possible probably problem properly put ran rather re read ready really reason remove
    removed result results right run running runs said same say says see seem seems set sets several she should show
    shows similar simply since so some something still such summary sure take taken test tested tests than that the
    their them then there these they thing things think this those though three through thus time to together too
    true try turn two under until up update updated us use used useful user uses using value values ve verify very
    via want wants was way ways we well were what when where whether which while who whole why will with within
    without work worked working works would write yes yet you your don doesn didn isn wasn won aren couldn wouldn
    shouldn create created creating add added adding adds done failed files open
"""
# Korean stems that carry no topic.
_STOP_KOREAN = """
    것 수 등 및 때 더 잘 안 못 이 그 저 이것 그것 저것 여기 거기 이제 지금 다시 먼저 모두 모든 다른 같은 이런 그런
    어떤 각 또 또는 그리고 하지만 그러나 그래서 따라서 또한 즉 위해 위한 대한 대해 통해 경우 때문 관련 정도 이후
    이전 다음 아래 위 중 후 전 있습니다 있다 있는 있고 있어 있으 없습니다 없다 없는 하는 하고 합니다 했습니다 한다
    했다 됩니다 되는 된다 해주세요 해줘 주세요 확인 추가 수정 변경 사용 작업 파일 문제 테스트 실행 결과 내용 부분
    방법 필요 완료 진행 생성 처리 작성 현재 기존 새로운 새로 아직 제가 저는 우리 우리는 한 일 실패 성공 남은 가장
    매우 바로 함께 그대로 만약 네 예 아니 좋습니다 알겠습니다
"""
# Particles and endings, taken off where two syllables stay; the longest that fits, twice.
_ENDINGS = """
    으로부터 에서부터 이라는데 하였습니다 되었습니다 했습니다 됐습니다 하겠습니다 했었다 합니다 됩니다 입니다 습니다
    하였다 되었다 했다 됐다 한다 된다 이다 였다 하기로 하기 하는 하고 하여 하지 하면 하도록 해서 해야 했고 했지만
    하지만 되는 되고 되어 되지 되면 되도록 돼서 된 한 할 될 함 됨 에서는 에서도 에서의 에서 에게서 에게 으로는
    으로도 으로 로는 로도 부터 까지 처럼 보다 마다 조차 밖에 이라는 라는 이라고 라고 이라도 라도 이나 나마 이며 이고
    이지만 인데 이란 들은 들을 들이 들의 들 와의 과의 와는 과는 만을 만이 은 는 이 가 을 를 의 에 와 과 도 만 로 며
    고 요
"""


@cache
def _stop() -> frozenset[str]:
    words = _STOP.split()
    return frozenset([*words, *map(_stem_latin, words), *_STOP_KOREAN.split()])


@cache
def _word_form() -> re.Pattern[str]:
    return re.compile(_WORD)


@cache
def _endings() -> dict[int, frozenset[str]]:
    found: dict[int, set[str]] = {}
    for ending in _ENDINGS.split():
        found.setdefault(len(ending), set()).add(ending)
    return {length: frozenset(found[length]) for length in sorted(found, reverse=True)}


def keywords(text: str) -> Iterator[tuple[str, str]]:
    """Yield each word of a text that carries a topic: its stem, and the word as it stands."""
    stop = _stop()
    for match in _word_form().finditer(text):
        word = match[0]
        if len(word) > _LONGEST:
            continue
        if "가" <= word[0] <= "힣":
            stem = _stem_korean(word)
            if len(stem) > 1 and stem not in stop and word not in stop:
                yield stem, stem
        elif word[0] > "\u3000":
            yield word, word
        else:
            folded = word.strip("_").casefold()
            stem = _stem_latin(folded)
            # "settings" has the stem of "set", and yet is a topic.
            empty = folded in stop or (stem in stop and len(stem) > _SHORTEST_STEM)
            if len(stem) >= _SHORTEST_STEM and not empty and not _is_number(folded):
                yield stem, word


def _is_number(word: str) -> bool:
    """Say whether a word is a hash or an address: hexadecimal, with a digit."""
    return len(word) > 6 and any(c.isdigit() for c in word) and all(c in "0123456789abcdef-" for c in word)  # noqa: PLR2004


@lru_cache(maxsize=50_000)
def _stem_latin(word: str) -> str:
    """Return a folded English word without its commonest endings; identifiers and file names as they are."""
    if not word.isalpha() or not word.isascii():
        return word
    if word.endswith(("ss", "us", "is")):
        return word
    for ending, put in _ENGLISH_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            word = word[: len(word) - len(ending)] + put
            if not put and len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word.removesuffix("e") if len(word) > _SHORTEST_STEM else word


@lru_cache(maxsize=50_000)
def _stem_korean(word: str) -> str:
    for _ in range(2):
        for length, endings in _endings().items():
            if len(word) - length >= 2 and word[-length:] in endings:  # noqa: PLR2004
                word = word[:-length]
                break
        else:
            break
    return word
