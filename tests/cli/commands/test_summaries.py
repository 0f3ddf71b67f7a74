from __future__ import annotations

import json

import pytest

from tests.command_line import SUMMARY


def test_a_model_sums_up_and_status_says_what_it_cost(gitmem, rotated, home, model_server):
    model_server.reply = lambda _: SUMMARY
    assert gitmem("config", "--user", "summary.provider", "openai")[0] == 0
    gitmem("config", "--user", "summary.base_url", model_server.url)
    gitmem("config", "--user", "summary.model", "mini")
    assert "openai, not asked today" in gitmem("status")[1]
    code, out, err = gitmem("summarize", "--json", OPENAI_API_KEY="sk-mine")
    assert (code, err) == (0, "")
    assert [(one["method"], one["why"]) for one in json.loads(out)] == [("fake-mini", "")]
    assert "1 question: 1,100 tokens of 1,000,000" in gitmem("status")[1]
    models = json.loads(gitmem("status", "--json")[1])["models"]
    assert (models["questions"], models["failures"], models["tokens"]) == (1, 0, 1_100)
    assert gitmem("summarize")[1] == "No summary is pending.\n"
    assert "sk-mine" not in json.dumps(model_server.asked)


@pytest.mark.parametrize(
    "reply",
    [b"", b"[" * 50_000, b"\xff\xfe", json.dumps({**SUMMARY, "overallSummary": "x"}).encode()],
)
def test_what_is_no_summary_is_refused_and_says_what_it_lacks(gitmem, rotated, tmp_path, reply):
    code, _, err = gitmem("summary", "put", rotated, stdin=reply)
    assert code == 8
    assert "This is no summary" in err
    assert "gitmem summary schema" in err
    assert json.loads(gitmem("summary", "list", "--json")[1])[0]["method"] == "offline"


def test_the_schema_is_printed_and_its_example_passes(gitmem):
    from gitmem.llm.protocol import parse_reply

    schema = json.loads(gitmem("summary", "schema")[1])
    assert parse_reply(json.dumps(SUMMARY), schema) == SUMMARY
