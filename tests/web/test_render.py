import pytest

from gitmem.web.render import MAX_MARKDOWN, inline, markdown, visible


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain", "plain"),
        ("한국어와 日本語, é ñ €", "한국어와 日本語, é ñ €"),
        ("rtl\u202eevil", "rtl⟨U+202E⟩evil"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("soft\u00adhyphen", "soft⟨U+00AD⟩hyphen"),
        ("filler\u3164\u115f", "filler⟨U+3164⟩⟨U+115F⟩"),
        ("tags\U000e0041\U000e0042", "tags⟨U+E0041⟩⟨U+E0042⟩"),
        ("selector\U000e0100", "selector⟨U+E0100⟩"),
        ("esc\x1b[31m\x00", "esc⟨U+001B⟩[31m⟨U+0000⟩"),
        ("isolate\u2066\u2069", "isolate⟨U+2066⟩⟨U+2069⟩"),
        ("line\u2028end", "line⟨U+2028⟩end"),
        ("bom\ufeff", "bom⟨U+FEFF⟩"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("👩\u200d💻 ❤️", "👩\u200d💻 ❤️"),
        ("join\u200der", "join⟨U+200D⟩er"),
    ],
)
def test_what_cannot_be_seen_is_named(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<style>*{display:none}</style>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "[click](javascript:alert(1))",
        "![pixel](https://evil.example/p.png)",
        "<https://evil.example/>",
        "[a]: https://evil.example/\n\n[a]",
        "```html\n<script>alert(1)</script>\n```",
        "~~~\n</code></pre><script>x</script>",
        "<a href='https://evil.example'>x</a>",
        "&lt;script&gt;",
        "<form action='/undo'><button>x</button></form>",
        "<iframe src='//evil.example'></iframe>",
    ],
)
def test_no_markdown_makes_what_acts_or_leads_away(text):
    made = str(markdown(text)).lower()
    for tag in ("<script", "<style", "<img", "<svg", "<a ", "<form", "<iframe", "<button"):
        assert tag not in made
    for tag in made.split("<")[1:]:
        assert "=" not in tag.partition(">")[0], made  # no tag bears an attribute


@pytest.mark.parametrize(
    "text, shown",
    [
        ("[our docs](https://evil.example/)", "https://evil.example/"),  # where a link leads
        ("a&#x202e;b", "⟨U+202E⟩"),  # an entity hides no character
        ("<b>" + "x" * MAX_MARKDOWN, "<pre>&lt;b&gt;xxx"),
    ],
)
def test_markdown_is_shown(text, shown):
    assert shown in markdown(text)


def test_only_backticks_make_code_of_a_line():
    assert inline("run `a <b>` and ``") == "run <code>a &lt;b&gt;</code> and ``"
    assert inline("`\u202e`<i>") == "<code>⟨U+202E⟩</code>&lt;i&gt;"
