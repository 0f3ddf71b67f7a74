// Written by `gitmem install`, for pi. It hands each event of a session to gitmem's hook script, as JSON on standard
// input, and gives the agent what gitmem answers, with a prompt, at an error and after a compaction. It needs nothing but
// Node's own modules, and without gitmem on the machine it does nothing. `gitmem uninstall` removes it.
import { spawnSync } from "node:child_process"

const LINE = 'h=$HOME/.local/share/gitmem/hook.sh; [ -r "$h" ] && gitmem=EVENT . "$h"; exit 0'
const MOST = 200_000 // characters of a text that are handed over

export default function (pi) {
  let said = "" // what the agent said last
  let due = "startup" // why the memory is to be told with the next prompt, "" if it is not

  const call = (event, ctx, more) => {
    const cwd = ctx?.cwd || process.cwd()
    const manager = ctx?.sessionManager
    const payload = {
      hook_event_name: event,
      session_id: manager?.getSessionId?.() || "",
      transcript_path: manager?.getSessionFile?.() || "",
      cwd,
      ...more,
    }
    const options = { cwd, input: JSON.stringify(payload), timeout: 10_000, windowsHide: true }
    try {
      const done =
        process.platform === "win32"
          ? spawnSync("gitmem", ["hook", "pi", event], options)
          : spawnSync("/bin/sh", ["-c", LINE.replace("EVENT", `${event}.pi`)], options)
      const answer = done.stdout ? JSON.parse(String(done.stdout)) : {}
      if (answer.systemMessage && ctx?.hasUI) ctx.ui.notify(answer.systemMessage, "info")
      return answer.hookSpecificOutput || {}
    } catch {
      return {} // no answer, which is no JSON either
    }
  }
  const recall = (event, ctx, more) => call(event, ctx, more).additionalContext || ""
  const text = (content) => {
    const parts = Array.isArray(content) ? content.map((part) => part?.text || "").filter(Boolean).join("\n") : content
    return typeof parts === "string" ? parts.slice(0, MOST) : ""
  }

  pi.on("session_start", async () => {
    due = "startup"
  })
  pi.on("session_compact", async () => {
    due = "compact"
  })
  pi.on("session_before_compact", async (_event, ctx) => {
    call("PreCompact", ctx, { trigger: "auto" })
  })
  pi.on("before_agent_start", async (event, ctx) => {
    const memory = due ? recall("SessionStart", ctx, { source: due }) : ""
    due = ""
    said = ""
    const recalled = recall("UserPromptSubmit", ctx, { prompt: text(event.prompt) })
    const content = [memory, recalled].filter(Boolean).join("\n\n")
    return content ? { message: { customType: "gitmem", content, display: false } } : undefined
  })
  pi.on("message_end", async (event) => {
    if (event.message?.role === "assistant") said = text(event.message.content)
  })
  pi.on("tool_call", async (event, ctx) => {
    const more = { tool_name: event.toolName, tool_use_id: event.toolCallId, tool_input: event.input }
    const answer = call("PreToolUse", ctx, more)
    // pi asks nobody for leave: the agent is refused, and told to ask.
    return answer.permissionDecision ? { block: true, reason: answer.permissionDecisionReason } : undefined
  })
  pi.on("tool_result", async (event, ctx) => {
    const name = event.isError ? "PostToolUseFailure" : "PostToolUse"
    const more = { tool_name: event.toolName, tool_use_id: event.toolCallId, tool_input: event.input }
    const told = recall(name, ctx, event.isError ? { ...more, error: text(event.content).slice(-4_000) } : more)
    return told ? { content: [...(event.content || []), { type: "text", text: told }] } : undefined
  })
  pi.on("agent_settled", async (_event, ctx) => {
    call("Stop", ctx, { last_assistant_message: said })
  })
  pi.on("session_shutdown", async (_event, ctx) => {
    call("SessionEnd", ctx, { reason: "other" })
  })
}
