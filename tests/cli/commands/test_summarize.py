from __future__ import annotations

import json

from tests.cli.commands.project import SUMMARY


def test_without_a_model_summarize_says_so_and_nothing_is_lost(gitmem, rotated):
    code, out, _ = gitmem("summarize", "--pending")
    assert code == 1
    assert "no model is named in summary.provider" in out
    assert json.loads(gitmem("summary", "show", "--json")[1])["overallSummary"]


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


def test_what_a_store_says_of_models_does_not_count(gitmem, rotated, tmp_path, model_server):
    (tmp_path / ".gitmem" / "config.yaml").write_text(f"summary:\n  provider: openai\n  base_url: {model_server.url}\n")
    gitmem("summarize", OPENAI_API_KEY="sk-mine")
    assert model_server.asked == []
