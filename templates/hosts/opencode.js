// Written by `gitmem install`, for OpenCode and what is made of it. It hands each event of a session to gitmem's hook
// script, as JSON on standard input, and puts what gitmem answers into the system prompt. It needs nothing but Node's
// own modules, and without gitmem on the machine it does nothing. `gitmem uninstall` removes it.
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

const HOST = "opencode"
const LINE = 'h=$HOME/.local/share/gitmem/hook.sh; [ -r "$h" ] && gitmem=EVENT . "$h"; exit 0'
const MOST = 200_000 // characters of a text that are handed over
// Requests that are no part of the conversation begin so: a title, a summary of what is compacted.
const ASIDE = /title generator|summari[sz]/i

export const Gitmem = async ({ directory, client }) => {
  const data = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), HOST)
  const told = new Map() // session: what gitmem answered to its start
  const said = new Map() // session: what the agent said last, "" after a tool call
  const aside = new Map() // sessions of subagents, and the session of each
  const compacting = new Set()

  const transcript = (session) => {
    const name = existsSync(data) ? readdirSync(data).find((file) => file.endsWith(".db")) : undefined
    return name ? `${join(data, name)}#${session}` : ""
  }
  const call = (event, session, more) => {
    const common = { hook_event_name: event, session_id: session, cwd: directory, transcript_path: transcript(session) }
    const options = { cwd: directory, input: JSON.stringify({ ...common, ...more }), timeout: 10_000, windowsHide: true }
    try {
      const done =
        process.platform === "win32"
          ? spawnSync("gitmem", ["hook", HOST, event], options)
          : spawnSync("/bin/sh", ["-c", LINE.replace("EVENT", `${event}.${HOST}`)], options)
      const answer = done.stdout ? JSON.parse(String(done.stdout)) : {}
      const message = answer.systemMessage // a toast tells the user
      if (message) Promise.resolve(client?.tui?.showToast?.({ body: { message, variant: "info" } })).catch(() => {})
      return answer.hookSpecificOutput || {}
    } catch {
      return {} // no answer, which is no JSON either
    }
  }
  const recall = (event, session, more) => call(event, session, more).additionalContext || ""
  const start = (session) => {
    if (!told.has(session)) told.set(session, recall("SessionStart", session, { source: "startup" }))
  }
  const text = (value) => (typeof value === "string" ? value.slice(0, MOST) : "")

  return {
    event: async ({ event }) => {
      const session = event.properties?.sessionID
      const parent = event.type === "session.created" && event.properties.info?.parentID
      if (parent) aside.set(session, aside.get(parent) ?? parent)
      if (event.type === "session.compacted") compacting.delete(session)
      if (event.type !== "session.idle" || aside.has(session) || !told.has(session)) return
      call("Stop", session, { last_assistant_message: said.get(session) || "" })
      said.delete(session)
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      if (aside.has(sessionID)) return
      start(sessionID)
      const typed = parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text)
      const recalled = recall("UserPromptSubmit", sessionID, { prompt: text(typed.join("\n")), prompt_id: message.id })
      const last = parts.at(-1)
      // Parts are sorted by their ids; one that is marked so is not shown as the user's.
      if (recalled && last) parts.push({ ...last, id: `${last.id}0`, type: "text", text: recalled, synthetic: true })
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      const memory = told.get(sessionID)
      if (memory && !ASIDE.test(system.join("\n").slice(0, 300))) system.push(memory)
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      said.delete(sessionID)
      const session = aside.get(sessionID) ?? sessionID
      const answer = call("PreToolUse", session, { tool_name: tool, tool_use_id: callID, tool_input: args })
      // A plugin cannot have the user asked: the agent is refused, and told to ask.
      if (answer.permissionDecision) throw new Error(answer.permissionDecisionReason)
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
      const parent = aside.get(sessionID) // of a subagent's session, whose calls are told as its own
      const output = text(result?.output ?? result?.content?.map?.((part) => part.text || "").join("\n")).slice(-4_000)
      const failed = Boolean(result?.isError || result?.metadata?.exit)
      const event = failed ? "PostToolUseFailure" : "PostToolUse"
      const more = { tool_name: tool, tool_use_id: callID, tool_input: args, ...(failed && { error: output }) }
      if (tool === "question") more.tool_response = output
      if (parent) call(event, parent, { ...more, agent_id: sessionID })
      if (parent) return
      const told = recall(event, sessionID, more)
      if (told && typeof result.output === "string") result.output += `\n\n${told}`
      else if (told) result.content?.push?.({ type: "text", text: told })
    },
    "experimental.text.complete": async ({ sessionID }, { text: spoken }) => {
      if (!compacting.has(sessionID)) said.set(sessionID, text(spoken))
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      compacting.add(sessionID)
      if (!aside.has(sessionID)) call("PreCompact", sessionID, { trigger: "auto" })
    },
    dispose: async () => {
      for (const session of told.keys()) call("SessionEnd", session, { reason: "other" })
    },
  }
}
