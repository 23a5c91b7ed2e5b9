#!/bin/bash
# stop_private_cluster.sh BINDIR DATADIR
#
# Stop a cluster of start_private_cluster.sh. It is no error if the cluster does not exist or does
# not run.

. "$(dirname "$0")/common.sh"

[ $# -eq 2 ] || die "usage: stop_private_cluster.sh BINDIR DATADIR"

cd /
if as_server "$1/pg_ctl" -D "$2" status >/dev/null 2>&1; then
	as_server "$1/pg_ctl" -D "$2" -w -t 60 -m fast stop >/dev/null
fi
