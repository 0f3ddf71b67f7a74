# gitmem hook script, version 1
#
# An agent runs this at each event of a session. `gitmem install` puts it at ~/.local/share/gitmem/hook.sh, one for all
# agents and projects, and writes a line an event into the agent's settings:
#
#     h=$HOME/.local/share/gitmem/hook.sh; [ -r "$h" ] && gitmem=PostToolUse . "$h"; exit 0
#
# $gitmem is the event in gitmem's word for it and, for all agents but Claude Code, the agent: PostToolUse.codex. A third
# word, SessionStart.gemini.late, says that the agent is told its memory with the next prompt, or, where it hears no answer
# at prompts, with the next PostToolUse.cline.due. Standard input is the event, as JSON. It becomes a file in the store's
# spool, by `cat` alone: no Python starts but for what is answered, a start, a prompt, an error. The line reads this file
# into its own shell, since `sh hook.sh` would cost one more process. It runs in dash, bash, busybox's ash and zsh as sh:
# POSIX, and `-ef` and `-O`, which all of them have.
#
# Whatever happens, the exit code is 0 and nothing but an answer is printed: 2 would block the agent. That is why no
# special built-in (`exec`, `:`) is redirected: where that fails, dash ends with 2. Where gitmem takes over, it is by
# `exec`, so that its parent is the agent, as ours is: by the number of that process it is known later whether a session
# still runs.
#
# Programs are started in the root folder: where PATH or PYTHONPATH has an empty or relative entry, they, and what Python
# imports, would be looked for in the project.

set +euf # which the environment may have set, by SHELLOPTS or ENV
[ "$GITMEM_HOOKS" = off ] && exit 0
h=
case $gitmem in
*.late) gitmem=${gitmem%.late} h=late ;;
*.due) gitmem=${gitmem%.due} h=due ;;
esac
a=claude
case $gitmem in *.*) a=${gitmem#*.} ;; esac
e=${gitmem%%.*}

# Set $g to the program: the one on the PATH, else the one that wrote this file (what a desktop starts has a short PATH).
gitmem_installed=''
find_gitmem() {
    g=gitmem
    command -v gitmem >/dev/null && return
    g=$gitmem_installed
    [ "$g" ] && [ -x "$g" ]
}

{
# A session starts: gitmem answers with the memory.
if [ "$e$h" = SessionStart ]; then
    p=$PWD
    cd / && find_gitmem && exec "$g" -C "$p" hook "$a" "$e"
    exit 0
fi
set -C

# A status line tells what the last start told, which is kept beside the spool. Its folder stands in the event, on one line;
# where that has escapes or another form, gitmem reads it.
s=. j=
if [ "$e" = statusline ]; then
    [ -t 0 ] || IFS= read -r j
    case $j in
    '') ;;
    *'"workspace":{'*'"project_dir":"/'*) s=${j#*'"workspace":{'} s=${s#*'"project_dir":"'} s=${s%%'"'*} CLAUDE_PROJECT_DIR=$s ;;
    *) s= ;;
    esac
    case $s in *\\*) s= ;; esac
fi

# Find the spool, by the rules of gitmem.store.locate (docs/format.md, "Where a store is"), from the current folder,
# else from the agent's project folder. Rarer cases than a work tree and a linked work tree are left to gitmem: `ask`.
d= ask=
[ -d "$HOME/.gitmem/projects" ] && ask=1
case ${GITMEM_REMOTE:+1}$e in 1SessionStart) ask=1 ;; esac # a project without a store clones it
for p in "${s:-.}" "${CLAUDE_PROJECT_DIR:-.}"; do
    cd -P "$p" || continue
    # Up to the first folder with a repository or a store, and from inside a store out of it first.
    p=$PWD/
    p=${p%%/.gitmem/*}
    p=${p%/}
    until [ -f "$p/.git" ] || [ -e "$p/.git/HEAD" ] || [ -e "$p/.gitmem/.git" ] || [ -f "$p/HEAD" ]; do
        [ "$p" ] || continue 2
        p=${p%/*}
    done
    # The repository's common folder. In a linked work tree `.git` is a file, `gitdir: /main/.git/worktrees/name`, and
    # the project is the folder around that `.git` (or `.bare`). Submodules, bare repositories and the like: ask.
    c=$p/.git
    if [ -f "$c" ]; then
        IFS= read -r c <"$c"
        c=${c#gitdir: }
        c=${c%[[:cntrl:]]}
        case $c in /* | ?:*) ;; *) c=$p/$c ;; esac
        [ -f "$c/HEAD" ] || c=
        # Git's record of the work tree leads back to it; in a copy it leads to the original, whose spool is not ours.
        r=
        [ -f "$c/gitdir" ] && IFS= read -r r <"$c/gitdir" # a pipe would be waited for
        r=${r%[[:cntrl:]]}
        case $r in /* | ?:*) ;; *) r=$c/$r ;; esac
        [ "$r" -ef "$p/.git" ] || c=
        case $c in
        */modules/*) c= ;;
        */worktrees/*) c=${c%/worktrees/*} ;;
        *) c= ;;
        esac
        case ${c##*/} in .*) p=${c%/*} ;; *) ask=1; break ;; esac
    fi
    if ! [ -e "$p/.gitmem/.git" ]; then
        [ -e "$c" ] && continue
        ask=1
        break
    fi
    # A store of its own has a repository of its own; one on a branch of the project's has a file there.
    [ -d "$p/.gitmem/.git" ] && c=$p/.gitmem/.git
    d=$c/gitmem/spool/hooks
    # A folder of another user's (`-O`) would give them the session, and a link on the way may lead to anybody: gitmem asks
    # git whether the store is trusted, and follows no link. It also decides about a store without a record that the user
    # made or accepted it, or with another token than the record's: it may have come with the project.
    [ -d "$d" ] && [ -O "$d" ] && [ -O "$p/.gitmem" ] && ! [ "$p" -ef "$HOME" ] || d= ask=1
    for r in "$p/.gitmem" "$p/.gitmem/.git" "$c" "$c/gitmem" "$c/gitmem/spool" "$d"; do ! [ -L "$r" ] || d= ask=1; done
    w=$PWD
    cd -P "$c" && c=$PWD
    cd "$w" || exit 0
    r=$HOME/.local/share/gitmem/stores$c/gitmem/accepted a1= a2=
    [ -f "$r" ] && [ -f "$c/gitmem/machine" ] && IFS= read -r a1 <"$r" && IFS= read -r a2 <"$c/gitmem/machine"
    [ "$a1" ] && [ "$a1" = "$a2" ] || d= ask=1
    break
done
[ "$d" ] || p=$PWD
cd / || exit 0

if [ "$e" = statusline ]; then
    r=
    if [ "$s" ] && [ "$d" ]; then
        IFS= read -r r <"${d%/spool/hooks}/sign"
        case $r in *[[:cntrl:]]*) r= ;; gitmem:*) ;; *) r= ;; esac
        printf '%s\n' "${r:-gitmem: no session is recorded here yet}"
    elif [ "$ask" ] || ! [ "$s" ]; then
        find_gitmem && printf '%s\n' "$j" | "$g" -C "$p" statusline
    else
        echo 'gitmem: nothing is recorded here'
    fi
    exit 0
fi

# A tool is about to be called: only a call that holds what a rule forbids is looked at, by one `grep` and without Python.
if [ "$e" = PreToolUse ]; then
    r=${d%/spool/hooks}/forbids
    [ "$d" ] || r=$HOME/.local/share/gitmem/forbids # not known which store: gitmem looks, where some store has rules
    [ -e "$r" ] && { [ "$d" ] || [ "$ask" ]; } || exit 0
    if [ "$d" ]; then
        [ -s "$r" ] || exit 0
        j=$(LC_ALL=C grep -F -f "$r")
        [ "$j" ] && find_gitmem && printf '%s\n' "$j" | "$g" -C "$p/" hook "$a" "$e"
    else
        find_gitmem && exec "$g" -C "$p" hook "$a" "$e"
    fi
    exit 0
fi

# Where GITMEM_READONLY says that nothing is recorded, gitmem still tells.
case ${GITMEM_READONLY:-0}$e in
0*) ;;
*UserPromptSubmit | *PostToolUseFailure) d= ask=1 ;;
*) exit 0 ;;
esac

# In a pause nothing is written: gitmem notes which session that was, and knows when the pause is over.
[ "$d" ] && [ -e "$d/paused" ] && d= ask=1

# The agent of this process is to be told its memory with the next prompt, or the next such event: gitmem answers it.
case $e$h in UserPromptSubmit | *due) [ "$d" ] && [ -e "$d/tell-$PPID" ] && d= ask=1 ;; esac

# A name that an earlier process with our number has taken is never written to. The folder is its owner's alone; a
# `umask` here would be passed on to the gitmem that is started below, and to the store's files.
if [ "$d" ]; then
    n=1
    while f=$d/$gitmem-$PPID-$$-$n.json; [ -e "$f" ]; do n=$((n + 1)); done
    true >"$f" || d= ask=1
fi
if [ "$d" ]; then
    [ "$h" = late ] && ! [ -e "$d/tell-$PPID" ] && true >"$d/tell-$PPID"
    cat >>"$f"
    # What a prompt speaks of and what fixed an error, gitmem tells, unless the settings say no: `off-…`. These agents
    # have no event for a tool that failed. Their results say so, at the beginning or the end, which `grep` looks at: it
    # is one more process, a millisecond, and the shell itself would take twenty for each megabyte of a result.
    t=
    case $gitmem in
    UserPromptSubmit*) [ -e "$d/off-UserPromptSubmit" ] || t=tell ;;
    PostToolUseFailure.amp) ;; # deaf to it
    PostToolUseFailure*) [ -e "$d/off-PostToolUseFailure" ] || t=tell ;;
    PostToolUse.cline | PostToolUse.codex | PostToolUse.copilot | PostToolUse.gemini)
        [ -e "$d/off-PostToolUseFailure" ] || t=look
        ;;
    esac
    # These agents give their model nothing that is said before a call: what a rule forbids is told with the result.
    r=${d%/spool/hooks}/forbids
    case $gitmem in
    PostToolUse.gemini | PostToolUse.qwen | PostToolUse.droid | PostToolUse.opencode | PostToolUse.kilo | PostToolUse.pi)
        [ -s "$r" ] && LC_ALL=C grep -qF -f "$r" "$f" && t=tell
        ;;
    esac
    if [ "$t" = look ]; then
        t=
        LC_ALL=C grep -q -e 'xit [Cc]ode: [1-9]' -e 'xit code [1-9]' -e 'xited with code [1-9]' "$f" && t=tell
        # Codex says it of a command at the end of its record of the session alone.
        case $t$gitmem in PostToolUse.codex)
            r=$(head -c 4000 "$f" | LC_ALL=C sed -n 's/.*"transcript_path":"\([^"]*\)".*/\1/p')
            [ -f "$r" ] && tail -c 8000 "$r" | LC_ALL=C grep -q '"status":"failed"' && t=tell
            ;;
        esac
    fi
    [ -s "$f" ] || rm -f "$f"
    # At a turn's end, and at every fifth event of tools, commit the spool in the background; last, as it takes a core.
    set -- "$d"/*.json
    # A simple command: for a list, `a && b &`, bash keeps a shell with the agent's output open, which Codex waits for.
    case $e$(($# % 5)) in
    Stop? | PreCompact? | SessionEnd? | PostToolUse*0)
        find_gitmem && { "$g" -C "$p/" hook "$a" --drain </dev/null >/dev/null & }
        ;;
    esac
    [ "$t" = tell ] && find_gitmem && exec "$g" -C "$p/" hook "$a" "$e" --delivered "$f"
elif [ "$ask" ]; then
    find_gitmem && exec "$g" -C "$p" hook "$a" "$e"
fi
} 2>/dev/null
exit 0
