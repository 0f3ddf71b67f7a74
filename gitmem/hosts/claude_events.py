"""Claude Code's names of events, which Codex, Copilot CLI, droid and others share."""

EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PreCompact", "SessionEnd")
