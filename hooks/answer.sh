# What a host runs at an event that is owed an answer on standard output: gitmem itself, where it is installed. It is
# installed as one line after `gitmem=EVENT; `; deliver.sh says more, also why it is started in the root folder.
p=$PWD
[ "$GITMEM_HOOKS" = off ] || ! cd / || ! command -v gitmem >/dev/null || exec gitmem -C "$p" hook claude
exit 0
