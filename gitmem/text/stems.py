"""Stems, stop words and token estimates, English and Korean: for queries and keywords.

No dictionary and no analyser: a morphological analyser for Korean takes 80 MB and a second to start. An English stem is
the beginning of its word, so that it can be searched for as it is. A token is four bytes of UTF-8 (spec R1).
"""

from __future__ import annotations

from functools import cache

_ENGLISH_STOP = """
a about above after again against all also am an and any anyone anything are aren as at be because been before being
below between both but by can cannot could couldn d did didn do does doesn doing don done down during each either else
ever every few for from further get gets getting got had hadn has hasn have haven having he her here hers herself him
himself his how however i if in into is isn it its itself just kind kinds let likely ll m many may me might mine more
most much must mustn my myself need neither no nor not now of off often on once one only or other our ours ourselves
out over own per please quite rather re s same shall shan she should shouldn so some someone something such t than
that the their theirs them themselves then there these they thing things this those through to too under
until up upon us ve very via was wasn we were weren what whatever when where whether which while who whom whose why
will with within without won would wouldn yes yet you your yours yourself yourselves
"""
_KOREAN_STOP = """
가장 각각 거 것 것은 게 경우 그 그것 그녀 그는 그들 그런 그리고 그의 까지 나 내 너 누가 누구 누군가 다른 다음 당시
대한 대해 되는 된 된다 두 들 등 따라 따른 때 때문 또 또는 또한 로 를 마지막 만 많은 매우 먼저 며 명칭 몇 모든 무슨
무엇 무엇이 뭐 뭘 및 바 바로 부터 사이 수 아니 아닌 아주 않은 어느 어디 어디서 어떠한 어떤 어떻게 언제 얼마 얼마나
여기 여러 에 에서 였던 와 왜 우리 위해 위한 으로 은 을 의 이 이것 이는 이런 이름 이후 인 일 있는 있다 있던 있었던 자신
저 전 제 좀 주로 줄 중 지 지금 처음 통해 하는 하다 한 한다 할 함께 했던 했다 후
"""
# Forms of one word that no suffix explains; each line is one word.
_IRREGULAR = """
be been; become became; begin began begun; bite bit bitten; blow blew blown; break broke broken; bring brought
build built; buy bought; catch caught; choose chose chosen; come came; deal dealt; draw drew drawn; dream dreamt
drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found
fly flew flown; forget forgot forgotten; freeze froze frozen; give gave given; go went gone goes; grow grew grown
hang hung; hear heard; hide hid hidden; hold held; keep kept; know knew known; lead led; learn learnt; leave left
lend lent; lose lost; make made; mean meant; meet met; pay paid; read; ride rode ridden; ring rang rung
rise rose risen; run ran running; say said; see saw seen; seek sought; sell sold; send sent; shake shook shaken
shoot shot; show shown; sing sang sung; sink sank sunk; sit sat; sleep slept; speak spoke spoken; spend spent
stand stood; steal stole stolen; stick stuck; swim swam swum swimming; take took taken; teach taught; tell told
think thought; throw threw thrown; understand understood; wake woke woken; wear wore worn; win won winning
write wrote written writing; child children; foot feet; life lives; man men; mouse mice; person people; tooth teeth
wife wives; woman women; index indices indexes; matrix matrices; vertex vertices; datum data; mom mum mother
dad father
"""
_VOWELS = frozenset("aeiouy")
_SHORTEST_STEM = 3
# Suffixes that derive a noun or an adjective, the longest first.
_DERIVED = (
    *("ization", "isation", "izer", "ation", "ition", "ement", "ment", "ness", "iti", "ion", "able", "ible", "abl"),
    *("ibl", "ance", "ence", "anc", "enc", "ing", "ive", "iv", "ful", "less", "ism", "ist", "al", "er", "or"),
)
_SHORTEST_ROOT = 5

# Particles of nouns and endings of verbs; the longest that fits is taken off first.
_HANGUL_ENDINGS = """
에서부터 으로부터 에게서는 이라고는 으로서의 으로써의 에서의 으로의 까지의 로부터 에게서 에서는 에서도 에게는 에게도
으로는 으로도 으로서 으로써 이라는 이라고 이라면 이었던 이었다 이지만 인가요 이란 이나 이며 이고 이다 이던 이자 인지
인가 인데 입니다 입니까 라는 라고 로서 로써 로는 로도 에서 에게 에는 에도 에만 에의 와의 과의 와는 과는 까지 부터 처럼
보다 마다 조차 밖에 만이 만을 만은 만의 들이 들은 들을 들의 들에게 들과 하였던 하였다 하였는데 하였으며 하였고 하였을
하였는가 하였나 하였으나 하고자 하면서 하도록 하려고 하려는 하기로 하기 하는데 하는가 하는 하게 하고 하며 하여 하지
하자 하던 하다 하면 한다 한다는 했던 했다 했다고 했는데 했는가 했는지 했으며 했으나 했고 했을 했나 해서 해야 해요
했어요 했습니다 합니다 합니까 할까 할지 할 한 함 해 되었던 되었다 되었는데 되었으며 되었고 되었을 되었는가 되었나 되어
되는 되고 되며 되게 되지 되던 되다 되면 된다 된 될 됨 됐던 됐다 돼 시켰던 시켰다 시키는 시킨 시켜 당했던 당했다 당한
하였습니다 하겠습니다 했었다 했지만 되었습니다 됐습니다 됩니다 되도록 으로
받았던 받았다 받는 받은 스러운 스럽게 적인 적으로 적이 었던 었다 았던 았다 였던 였다 였는데 었는데 았는데 었으며
았으며 었고 았고 었을 았을 었는가 았는가 었나 았나 었는지 았는지 는가 은가 던가 나요 는지 은지 습니다 습니까 었습니다
았습니다 으며 으나 으면 아서 어서 도록 면서 려고 려는 기로 기에 기를 기가 기는 던 는데 은데 지만 거나 든지 은 는 이 가
을 를 의 에 로 와 과 도 만 나 랑 며 고 다 인 란 께 야 여
"""
_LONGEST_ENDING = 5
# Loan words that end like the particle 인: login, plugin, design, domain, (pipe)line, chain.
_LOAN_WORDS = ("로그인", "플러그인", "디자인", "도메인", "라인", "체인")
_SHORTEST_HANGUL = 2  # syllables that stay of a word
_ROUNDS = 2  # endings taken off a word: 지명수배+되었던+의 has two


@cache
def stop_words() -> frozenset[str]:
    """Return the words that carry no topic, English and Korean."""
    return frozenset(_ENGLISH_STOP.split()) | frozenset(_KOREAN_STOP.split())


@cache
def _irregular() -> dict[str, tuple[str, ...]]:
    families = [tuple(part.split()) for line in _IRREGULAR.split("\n") for part in line.split(";")]
    return {form: family for family in families for form in family}


@cache
def _endings() -> frozenset[str]:
    return frozenset(_HANGUL_ENDINGS.split())


def other_forms(word: str) -> tuple[str, ...]:
    """Return the irregular forms of an English word: "buy" of "bought"."""
    return tuple(form for form in _irregular().get(word, ()) if form != word)


def stem(word: str) -> str:
    """Return the stem that all regular forms of a lower-case English word share; other words as they are.

    It is a prefix of the word, except that a final `y` becomes `i` as in the plural: see `literal_of`.
    """
    if len(word) <= _SHORTEST_STEM or not word.isascii() or not word.isalpha():
        return word
    return _final(_without_suffix(word))


def root(key: str) -> str:
    """Return a stem without its derivational suffix: `token` of `tokenization`."""
    for suffix in _DERIVED:
        base = key.removesuffix(suffix)
        if base != key and len(base) >= _SHORTEST_ROOT:
            return base
    return key


def literal_of(word: str, key: str) -> str:
    """Return the prefix of `word` that all its forms share, to search files for."""
    return key if word.startswith(key) else key[:-1]


def _without_suffix(word: str) -> str:
    if word.endswith(("ies", "ied")) and len(word) > _SHORTEST_STEM + 1:
        return word[:-2]
    for suffix in ("ingly", "edly", "ing", "ed"):
        base = word.removesuffix(suffix)
        if base != word and len(base) >= _SHORTEST_STEM and not _VOWELS.isdisjoint(base):
            return base
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word[:-2] if word.endswith("ly") and len(word) > _SHORTEST_STEM + 2 else word


def _final(base: str) -> str:
    """Normalise the end of a stem: `hopp` to `hop`, `make` to `mak`, `story` to `stori`."""
    if len(base) <= _SHORTEST_STEM:
        return base
    if base[-1] == base[-2] and base[-1] not in "aeiouls":
        return base[:-1]
    if base.endswith("e"):
        return base[:-1]
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "i"
    return base


def is_ending(text: str) -> bool:
    """Return whether a run of Hangul is a particle or an ending alone, as after a Latin word: `API를`."""
    return text in _endings()


def hangul_stem(word: str) -> str:
    """Return a Hangul word without its particles and endings."""
    endings = _endings()
    for _ in range(_ROUNDS):
        if word.endswith(_LOAN_WORDS):
            break
        longest = min(_LONGEST_ENDING, len(word) - _SHORTEST_HANGUL)
        cut = next((size for size in range(longest, 0, -1) if word[-size:] in endings), 0)
        if not cut:
            break
        word = word[:-cut]
    return word


BYTES_PER_TOKEN = 4


def tokens_of_size(size: int) -> int:
    """Return the estimated tokens of `size` bytes, rounded up."""
    return -(-size // BYTES_PER_TOKEN)


def utf8_size(text: str) -> int:
    """Return the size of a text in bytes; a lone surrogate (a byte that was not UTF-8) counts one."""
    return len(text.encode("utf-8", "replace"))  # "?" for a surrogate: one byte too, and never an error


def estimate_tokens(text: str) -> int:
    """Return the estimated tokens of a text: "Hello World" is 3, ten Hangul syllables are 8."""
    return tokens_of_size(utf8_size(text))
