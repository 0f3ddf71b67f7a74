"""Keywords: words for the subject of a text, in English, Korean, Chinese and Japanese.

A keyword is a stem (`gitmem.text.stems`): "rotated" and "rotations" are one, "설정을" and "설정은" too. Everything is
linear in the text.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from gitmem.text.stems import hangul_stem, is_ending, stem, stop_words

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    from collections.abc import Iterator


_LONGEST = 40  # characters of a word; longer ones are hashes and data
_SHORTEST = 2  # letters of a word: "uv", "db"
_SHORTEST_STEM = 3  # letters of a stem that stands for its word
_SHORTEST_ATION = 8  # letters: "rotation" is a form of "rotate", "station" is not one of "state"
# Identifiers and file names are one word; so is a run of Hangul, kana or Han, and a number with its counter ("5회로").
_LATIN = "A-Za-zÀ-ɏЀ-ӿ"
_WORD = (
    rf"(?<![0-9{_LATIN}])(?:[{_LATIN}_][{_LATIN}0-9_]*(?:[./-][{_LATIN}0-9_]+){{0,6}}|[0-9]+[가-힣]+)"
    r"|[가-힣]+|[ァ-ヶー]{2,}|[一-鿿]{2,}"
)
_REDACTED, _MARKER = "[REDACTED:", r"\[REDACTED:[a-z-]{1,40}\]"  # the placeholder of a secret
# Besides the stop words of a query: words that carry no topic because every agent's report is full of them.
_STOP = """
    actually add added adding adds already although always another around back became call called case cause
    change changed changes check checked checking clear code com come confirm confirmed confirming contain
    contains correct create created creating current currently different e.g end ensure etc even everything
    exactly exist existing exists failed false file files find first fix fixed following found full give given
    go going good great happen happens help http https i.e implement implemented including instead issue keep
    kept know last like line lines look looking looks lot made make makes making maybe needed needs never new
    next none note nothing null ok okay old open others part pass passed passes perfect perhaps please possible
    probably problem properly put ran read ready real really reason remove removed result results right run
    running runs said say says see seem seems set sets several show shows similar simply since still summary
    sure take taken test tested tests thank thanks think though three thus time together true try turn two
    understand update updated use used useful user uses using value values verify want wants way ways well whole
    work worked working works write yet
    각 같은 거기 결과 관련 그대로 그래서 그러나 기존 남은 내용 네 다시 더 됩니다 따라서 만약 모두 못 문제 방법
    변경 부분 사용 새로 새로운 생성 성공 수정 실패 실행 아래 아직 안 알겠습니다 없는 없다 없습니다 예 완료 우리는
    위 이전 이제 있고 있습니다 있어 있으 작성 작업 잘 저것 저는 정도 제가 좋습니다 주세요 즉 진행 처리 추가
    테스트 파일 필요 하고 하지만 합니다 해주세요 해줘 했습니다 현재 확인
"""


@cache
def _stop() -> frozenset[str]:
    words = [*_STOP.split(), *stop_words()]
    return frozenset([*words, *map(_key, words)])


@cache
def _word_form() -> re.Pattern[str]:
    return re.compile(_WORD)


def keywords(text: str) -> Iterator[tuple[str, str]]:
    """Yield each word of a text that carries a topic: its stem, and the word as it is written."""
    stop = _stop()
    if _REDACTED in text:
        text = re.sub(_MARKER, " ", text)
    for match in _word_form().finditer(text):
        word = match[0]
        if len(word) > _LONGEST or word[0].isdecimal():
            continue
        if "가" <= word[0] <= "힣":
            key = _hangul_key(word)
            after_code = text[match.start() - 1 : match.start()] == "`" and is_ending(word)
            if len(key) > 1 and key not in stop and word not in stop and not after_code:
                yield key, key
        elif word[0] > "\u3000":
            yield word, word
        else:
            folded = word.strip("_").casefold()
            key = _key(folded)
            # The stem of "settings" is that of the stop word "set".
            empty = folded in stop or (key in stop and len(key) > _SHORTEST_STEM)
            if len(key) >= _SHORTEST and not empty and not _is_hash(folded):
                yield key, word


def _is_hash(word: str) -> bool:
    """Return whether a word is hexadecimal with a digit in it."""
    return len(word) > 6 and any(c.isdigit() for c in word) and all(c in "0123456789abcdef-" for c in word)  # noqa: PLR2004


_hangul_key = lru_cache(maxsize=50_000)(hangul_stem)


@lru_cache(maxsize=50_000)
def _key(word: str) -> str:
    """Return the common stem of a folded word's forms, "rotation" and "settings" included; identifiers unchanged."""
    if word.endswith("s") and word.endswith(("ings", "ations")):
        word = word[:-1]
    key = stem(word)
    return key[:-3] if key.endswith("ation") and len(key) >= _SHORTEST_ATION else key
