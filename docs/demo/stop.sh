#!/bin/bash
# stop.sh
#
# "make demo-stop": stop the cluster of the demonstration and remove its data. It is no error if there is no cluster.
# DEMO_DIRECTORY is as in run.sh.

. "$(dirname "$0")/../../test/scripts/common.sh"

directory=${DEMO_DIRECTORY:-$("$top/test/scripts/build_dir.sh")/demo}
programs=$(as_server cat "$directory/programs" 2>/dev/null || true)

if [ -n "$programs" ]; then
	"$top/test/scripts/stop_private_cluster.sh" "$programs" "$directory/data"
fi
as_server rm -rf "$directory/data" "$directory/data.log" "$directory/data.socket" "$directory/programs"
