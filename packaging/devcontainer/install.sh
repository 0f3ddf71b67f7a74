#!/bin/sh
# Installs gitmem for all users of the container; Python 3.11 or later and git are of its image, or of features before this one.
set -eu
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gitmem needs Python 3.11 or later")'
command -v git >/dev/null || { echo "gitmem needs git" >&2; exit 1; }
python3 -m venv /usr/local/share/gitmem
/usr/local/share/gitmem/bin/pip install --no-cache-dir "gitmem-store[${EXTRAS:-mcp,web}]"
ln -sf /usr/local/share/gitmem/bin/gitmem /usr/local/bin/gitmem
