#!/bin/bash
# memory_check.sh DIRECTORY valgrind|sanitizers [TEST...]
#
# Run regression tests, all by default, in a server that is watched:
#   valgrind    the server that PATH names, with yquota installed, under valgrind
#   sanitizers  a server of its own with yquota built by clang with
#               -fsanitize=address,undefined
# The script prints pg_regress's line for each test and then "N tests, N reports"; reports and differences go to
# standard error. Status 77 means that the tools are not installed. In a soak (SOAK_SECONDS) the build for the
# sanitizers is optimized for quick tests. Otherwise the build itself is quick.

. "$(dirname "$0")/common.sh"

[ $# -ge 2 ] || die "usage: memory_check.sh DIRECTORY valgrind|sanitizers [TEST...]"
kind=$2
mkdir -p "$1"
directory=$(cd "$1" && pwd -P)
shift 2
server_paths
data=$directory/data
reports=$directory/reports
socket=$(mktemp -d)
rm -rf "$data" "$reports" "$directory/results" "$directory/regression.diffs"
mkdir -p "$reports"

case $kind in
	valgrind)
		command -v valgrind >/dev/null || exit 77
		programs=$(dirname "$(command -v postgres)")
		watched=(valgrind --quiet --trace-children=yes --leak-check=no --num-callers=30
			--suppressions="$top/test/memory/valgrind.supp" --gen-suppressions=all
			--log-file="$reports/%p" "$programs/postgres")
		;;
	sanitizers)
		preload=$("$top/test/scripts/sanitizer_preload.sh" "$directory") || exit
		clang=$(sed -n 's/^CLANG *= *//p' "$(dirname "$pgxs")/../Makefile.global")
		programs=$("$top/test/scripts/make_private_server.sh" "$directory" CC="${clang:-clang}" \
			COPT="-w -O$([ -n "${SOAK_SECONDS:-}" ] && echo 1 || echo 0) -fno-wrapv -fsanitize=address,undefined -fno-sanitize-recover=undefined -shared-libasan") ||
			die 'yquota does not build with sanitizers'
		watched=(env LD_PRELOAD="$preload" UBSAN_OPTIONS="print_stacktrace=1:log_path=$reports/undefined"
			ASAN_OPTIONS="detect_leaks=0:detect_stack_use_after_return=0:verify_asan_link_order=0:log_path=$reports/address"
			"$programs/postgres")
		;;
	*) die "there is no \"$kind\"" ;;
esac

{
	echo '#!/bin/bash'
	printf 'exec %s "$@"\n' "${watched[*]@Q}"
} >"$directory/postgres"
chmod +x "$directory/postgres"

"$programs/initdb" -D "$data" -U postgres -A trust -E UTF8 --no-locale --no-sync >/dev/null
cat >>"$data/postgresql.conf" <<CONF
listen_addresses = ''
port = 5432
unix_socket_directories = '$socket'
fsync = off
jit = off
CONF
stop() { "$programs/pg_ctl" -D "$data" -m fast -w -t 300 stop >/dev/null || true; rm -rf "$socket"; }
trap stop EXIT
"$programs/pg_ctl" -D "$data" -p "$directory/postgres" -l "$directory/server.log" -w -t 300 start >/dev/null

[ $# -gt 0 ] || set -- $(cd "$top/test/sql" && printf '%s\n' *.sql | sed 's/\.sql$//' | sort)
# another run may be reading it
[ -e "$top/test/expected" ] || ln -s ../expected "$top/test/expected"
cd "$directory"
status=0
PGHOST=$socket PGUSER=postgres PGPORT=5432 PATH=$programs:$PATH \
	"${pgxs%/makefiles/*}/test/regress/pg_regress" --inputdir="$top/test" --outputdir="$directory" \
	--bindir="$programs" --dbname=regression --load-extension=yquota "$@" >"$directory/regress.log" 2>&1 || status=1
grep -E '^(test|ok|not ok) ' "$directory/regress.log" || status=1
[ ! -s regression.diffs ] || head -n 200 regression.diffs >&2

# Wait until all processes have ended.
stop
trap - EXIT
found=0
for report in "$reports"/*; do
	[ -s "$report" ] || continue
	found=$((found + 1))
	cat "$report" >&2
done
grep -E 'PANIC|terminated by signal' "$directory/server.log" >&2 && status=1
echo "$# tests, $found reports"
[ "$found" -eq 0 ] && [ "$status" -eq 0 ]
