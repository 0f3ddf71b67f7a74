# A host runs this at an event that it wants an answer to: gitmem itself, if it is installed. It becomes one line after
# `gitmem=EVENT; `; deliver.sh says more, also why gitmem is started in the root folder.
p=$PWD
[ "$GITMEM_HOOKS" = off ] || ! cd / || ! command -v gitmem >/dev/null || exec gitmem -C "$p" hook claude
exit 0
