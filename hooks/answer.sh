# What a host runs at an event that is owed an answer on standard output: gitmem itself, where it is installed. It is
# installed as one line after `gitmem=EVENT; `; deliver.sh says more.
[ "$GITMEM_HOOKS" = off ] || ! command -v gitmem >/dev/null || exec gitmem hook claude
exit 0
