# What a host runs at an event that is owed an answer on standard output: gitmem itself, where it is installed. Like
# deliver.sh it ends with 0 whatever happens, and is installed as one line after `gitmem=EVENT; `.
[ "$GITMEM_HOOKS" = off ] || ! command -v gitmem >/dev/null || gitmem hook claude
exit 0
