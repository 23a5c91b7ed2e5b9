# common.sh - sourced by the scripts beside it (bash).
#
# The file sets top (the checkout) and server_user (the account of the private servers). The functions say and die
# write messages for people to standard error, because standard output carries results. The function as_server runs a
# command as that account. The function server_paths gives the paths of the server that PG_CONFIG names.
#
# Unset every variable of the caller's shell that names a PostgreSQL server, so that no script can reach a cluster
# that existed before.

set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
PG_CONFIG=${PG_CONFIG:-pg_config}
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CDPATH
for name in $(compgen -e PG || true); do
	[ "$name" = PG_CONFIG ] || unset "$name"
done
export PG_CONFIG PSQLRC=/dev/null LC_ALL=C.UTF-8

# The server refuses to run as root.
if [ "$(id -u)" -eq 0 ]; then
	server_user=postgres
else
	server_user=$(id -un)
fi

say() { printf '%s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# as_server COMMAND [ARGUMENT...]: run the command as the server's account, in the current directory
# if the account may enter it. HOME is the account's own, because root's is closed to it.
as_server()
{
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid="$server_user" --regid="$(id -g "$server_user")" --init-groups \
			env HOME=/var/lib/postgresql USER="$server_user" LOGNAME="$server_user" "$@"
	else
		"$@"
	fi
}

# server_paths: set bindir, sharedir, pkglibdir and pgxs. PG_CONFIG becomes an absolute path,
# because the private server's programs come first in some values of PATH.
server_paths()
{
	PG_CONFIG=$(command -v "$PG_CONFIG") || die "there is no pg_config; set PG_CONFIG"
	bindir=$("$PG_CONFIG" --bindir)
	sharedir=$("$PG_CONFIG" --sharedir)
	pkglibdir=$("$PG_CONFIG" --pkglibdir)
	pgxs=$("$PG_CONFIG" --pgxs)
}
