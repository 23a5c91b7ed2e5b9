#!/bin/bash
# start_private_cluster.sh BINDIR DATADIR [--preload LIBRARIES] [--conf LINE]...
#
# Start a private cluster; create it first if DATADIR does not exist. The cluster listens only on a unix socket in
# DATADIR.socket, which only the server's account (and root) can enter. Its superuser is postgres, its port 5432, its
# log DATADIR.log. --conf appends a line to postgresql.conf. The script prints the directory of the socket, to be used
# as PGHOST.

. "$(dirname "$0")/common.sh"

usage="usage: start_private_cluster.sh BINDIR DATADIR [--preload LIBRARIES] [--conf LINE]..."
[ $# -ge 2 ] || die "$usage"
bindir=$1
data=$2
socket=$2.socket
shift 2

settings="listen_addresses = ''
port = 5432
unix_socket_directories = '$socket'
unix_socket_permissions = 0700
"
while [ $# -gt 0 ]; do
	case $1 in
		--preload) settings+="shared_preload_libraries = '$2'"$'\n' ;;
		--conf) settings+="$2"$'\n' ;;
		*) die "$usage" ;;
	esac
	shift 2
done

cd /
if ! as_server test -f "$data/PG_VERSION"; then
	as_server "$bindir/initdb" -D "$data" -U postgres -A trust -E UTF8 --no-locale --no-sync >/dev/null
fi
as_server mkdir -p -m 700 "$socket"
printf '%s' "$settings" | as_server tee "$data/private.conf" >/dev/null
as_server grep -q '^include .private.conf' "$data/postgresql.conf" ||
	echo "include 'private.conf'" | as_server tee -a "$data/postgresql.conf" >/dev/null

as_server "$bindir/pg_ctl" -D "$data" -l "$data.log" -w -t 60 start >/dev/null || {
	as_server tail -n 20 "$data.log" >&2
	die "the private cluster did not start"
}
echo "$socket"
