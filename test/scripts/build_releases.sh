#!/bin/bash
# build_releases.sh DIRECTORY
#
# Build the library of every release (sql/releases/commits) for the server of
# PG_CONFIG, as DIRECTORY/VERSION/yquota.so, unless it is there.  It is compiled
# without optimization: no test asks how fast a release was.  The sources come
# from the checkout's history: without git or that history there is no library,
# which is said and is no error.

. "$(dirname "$0")/common.sh"

[ $# -eq 1 ] || die "usage: build_releases.sh DIRECTORY"
directory=$1
server_paths
server=$("$PG_CONFIG" --version)

while read -r version commit; do
	place=$directory/$version
	if [ -e "$place/yquota.so" ] && [ "$(cat "$place/server")" = "$server" ]; then
		continue
	fi
	if ! git -C "$top" cat-file -e "$commit^{commit}" 2>/dev/null; then
		say "no library of release $version: the sources of $commit are not at hand"
		continue
	fi
	as_server rm -rf "$place"
	as_server mkdir -p "$place/tree"
	git -C "$top" archive "$commit" | as_server tar -C "$place/tree" -xf -
	as_server make --no-print-directory -s -j"$(nproc)" -C "$place/tree" PG_CONFIG="$PG_CONFIG" with_llvm=no COPT='-O0 -g0 -w' yquota.so
	as_server mv "$place/tree/yquota.so" "$place"
	as_server rm -rf "$place/tree"
	echo "$server" | as_server tee "$place/server" >/dev/null
done <"$top/sql/releases/commits"
