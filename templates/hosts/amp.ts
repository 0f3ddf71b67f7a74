// Written by `gitmem install`, for Amp. It hands each event of a thread to gitmem's hook script, as JSON on standard
// input, and gives the agent what gitmem answers, with a thread's first prompt. It needs nothing but Node's own modules,
// and without gitmem on the machine it does nothing. `gitmem uninstall` removes it. Nobody has tried it yet: the events
// are those of Amp's documentation.
import { spawnSync } from "node:child_process"

const LINE = 'h=$HOME/.local/share/gitmem/hook.sh; [ -r "$h" ] && gitmem=EVENT . "$h"; exit 0'
const MOST = 200_000 // characters of a text that are handed over

export default function (amp) {
  const told = new Set() // threads that were given the memory

  const folder = () => {
    try {
      return amp.helpers.filePathFromURI(amp.system.workspaceRoot) || process.cwd()
    } catch {
      return process.cwd()
    }
  }
  const call = (event, given, more) => {
    const session = given?.thread?.id
    if (!session) return ""
    const cwd = folder()
    const input = JSON.stringify({ hook_event_name: event, session_id: session, cwd, ...more })
    const options = { cwd, input, timeout: 10_000, windowsHide: true }
    try {
      const done =
        process.platform === "win32"
          ? spawnSync("gitmem", ["hook", "amp", event], options)
          : spawnSync("/bin/sh", ["-c", LINE.replace("EVENT", `${event}.amp`)], options)
      return done.stdout ? JSON.parse(String(done.stdout)).hookSpecificOutput?.additionalContext || "" : ""
    } catch {
      return "" // no answer, which is no JSON either
    }
  }
  const text = (value) => (typeof value === "string" ? value : value ? JSON.stringify(value) : "").slice(0, MOST)
  const reply = (messages) => {
    const last = (Array.isArray(messages) ? messages : []).filter((one) => one?.role === "assistant").pop()
    const parts = Array.isArray(last?.content) ? last.content : [{ type: "text", text: last?.content }]
    return text(parts.map((part) => (part?.type === "text" && part.text) || "").filter(Boolean).join("\n"))
  }

  amp.on("agent.start", async (event) => {
    const id = event?.thread?.id
    const memory = told.has(id) ? "" : call("SessionStart", event, { source: "startup" })
    told.add(id)
    const recalled = call("UserPromptSubmit", event, { prompt: text(event?.message), prompt_id: String(event?.id ?? "") })
    const content = [memory, recalled].filter(Boolean).join("\n\n")
    return content ? { message: { content, display: false } } : undefined
  })
  amp.on("tool.result", async (event) => {
    const failed = event?.status === "error" || Boolean(event?.error)
    const more = { tool_name: event?.tool, tool_use_id: event?.toolUseID, tool_input: event?.input }
    const error = { error: text(event?.error || event?.output).slice(-4_000) }
    call(failed ? "PostToolUseFailure" : "PostToolUse", event, failed ? { ...more, ...error } : more)
  })
  amp.on("agent.end", async (event) => {
    call("Stop", event, { last_assistant_message: reply(event?.messages), prompt_id: String(event?.id ?? "") })
  })
}
