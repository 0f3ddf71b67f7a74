"""Claude Code's names of events, which Codex, Copilot CLI, droid and others share."""

EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PreCompact", "SessionEnd")
WITH_FAILURES = (*EVENTS[:4], "PostToolUseFailure", *EVENTS[4:])  # of hosts that tell a failed call by an event
