#!/bin/bash
# make_private_server.sh DIRECTORY [make variable...]
#
# Build yquota and install it into a private copy of the server of PG_CONFIG:
#   DIRECTORY/tree    a copy of the checkout, in which everything is built
#   DIRECTORY/server  the relocated server with yquota in it
# The script prints the directory of the private server's programs. DIRECTORY lies below the directory that
# build_dir.sh prints. DIRECTORY and all files in it belong to the server's account. The script writes neither to the
# checkout nor to the system's server.

. "$(dirname "$0")/common.sh"

[ $# -ge 1 ] || die "usage: make_private_server.sh DIRECTORY [make variable...]"
directory=$1
shift
tree=$directory/tree
server=$directory/server
server_paths
citus=$("$top/test/scripts/build_dir.sh")/citus/$("$PG_CONFIG" --version | tr -c 'A-Za-z0-9.\n' _)

cd /
as_server mkdir -p "$tree" "$server"

# Copy the server again if its own files or its extensions have changed.
stamp=$({ "$PG_CONFIG"; ls -lLR --time-style=full-iso "$bindir" "$pkglibdir" "$sharedir/extension"; } | cksum)
if [ "$(as_server cat "$server/stamp" 2>/dev/null || true)" != "$stamp" ]; then
	say "copying $("$PG_CONFIG" --version) to $server"
	as_server rm -rf "$server" "$tree"
	as_server mkdir -p "$server" "$tree"
	tar -C / -cf - "${bindir#/}" "${pkglibdir#/}" "${sharedir#/}" | as_server tar -C "$server" -xf -
	echo "$stamp" | as_server tee "$server/stamp" >/dev/null
fi

# Copy Citus if "make citus" has built it for this server.
if [ -d "$citus" ]; then
	as_server cp -a "$citus/." "$server"
fi

# Copy the sources. Objects of the last build stay, but sources that no longer exist are removed.
# The copied files are listed by name, because tests that run in a checkout write results beside
# them. tar returns status 1 if a file changes while it is read.
as_server find "$tree" -mindepth 1 -maxdepth 1 ! -name src -exec rm -rf {} +
as_server find "$tree" -type f ! -name '*.o' ! -name '*.d' -delete
{ tar -C "$top" --exclude=test/expected --exclude='*.o' --exclude='*.bc' --exclude='*.d' --exclude='*.so' -cf - \
	LICENSE META.json Makefile README.md docs expected sql src test yquota.control || [ $? -eq 1 ]; } |
	as_server tar -C "$tree" -xf -

# Bitcode takes as long to build as the library, and is only needed for inlining by JIT.
set -- with_llvm=no "$@"
cd "$tree"
as_server make --no-print-directory -j"$(nproc)" all "$@" |
	awk '/ -c -o [^ ]*\.o / { sub(/.* /, ""); print "  " $0; fflush() }' >&2
as_server make --no-print-directory install DESTDIR="$server" "$@" >/dev/null
echo "$server$bindir"
