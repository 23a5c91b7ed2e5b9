#!/bin/bash
# clean.sh
#
# For "make clean": stop the private servers of this checkout, and remove the directory that holds
# them, wherever it is (build_dir.sh).

. "$(dirname "$0")/common.sh"

[ -e "$top/build" ] || [ -L "$top/build" ] || exit 0
directory=$("$top/test/scripts/build_dir.sh")
for stage in "$directory"/*; do
	for data in "$stage/data" "$stage/run/data"; do
		[ ! -f "$data/postmaster.pid" ] || "$top/test/scripts/stop_private_cluster.sh" "$stage/server$("$PG_CONFIG" --bindir)" "$data"
	done
	[ ! -L "$stage/run" ] || rm -rf "$(readlink -f "$stage/run")"
done
rm -rf "$directory" "$top/build"
