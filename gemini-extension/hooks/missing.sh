# The plugin runs this at a session's start: where there is no gitmem, it says once how to install it, and then never again.
#
# Told is the user (`systemMessage`) and the agent, as some hosts show the user nothing. Copilot CLI reads the first level only;
# Gemini CLI would put what the agent is told before the first prompt, where slash commands break.
{
[ "$GITMEM_HOOKS" = off ] || command -v gitmem >/dev/null && exit 0
d=${CLAUDE_PLUGIN_DATA:-${XDG_STATE_HOME:-$HOME/.local/state}/gitmem-plugin}
mkdir -p "$d" && [ ! -e "$d/told" ] && true >"$d/told" || exit 0
} 2>/dev/null
t="The plugin gitmem is here, but its program is not, so nothing is remembered yet. To install it: uv tool install 'gitmem-store[mcp]' (or pipx install), or in a clone of its repository: uv tool install '.[mcp]'. Then, in a project: gitmem init. This is said once."
if [ "$COPILOT_CLI" ]; then
    printf '{"additionalContext":"%s"}\n' "$t Tell the user."
elif [ "$GEMINI_SESSION_ID" ]; then
    printf '{"systemMessage":"%s"}\n' "$t"
else
    printf '{"systemMessage":"%s","hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"%s"}}\n' "$t" "$t Tell the user."
fi
exit 0
