#!/bin/bash
# installcheck.sh REGRESS|ISOLATION [PART/PARTS]
#
# Run the packagers' "make installcheck" and report it as TAP. Each regression test or isolation spec of the checkout
# is an assertion. PART/PARTS names one of several runs that share the tests: 1/2 runs the first, third and fifth test,
# and so on. The tests run in their own cluster below TESTDIR, with the server that PATH names, which must not crash.
# Differences go to standard error.

. "$(dirname "$0")/common.sh"

[ $# -le 2 ] && [[ ${2-1/1} =~ ^([1-9])/([1-9])$ ]] || die "usage: installcheck.sh REGRESS|ISOLATION [PART/PARTS]"
kind=${1-}
part=${BASH_REMATCH[1]}
parts=${BASH_REMATCH[2]}
directory=$TESTDIR/$kind$part
cd "$top"
case $kind in
	REGRESS) other=ISOLATION files=(test/sql/*.sql) ;;
	ISOLATION) other=REGRESS files=(test/specs/*.spec) ;;
	*) die "there is no \"$kind\"" ;;
esac
server_paths
programs=$(dirname "$(command -v postgres)")
data=$directory/data
log=$directory/log
number=0
failures=0

# result PASSES NAME: report a test; PASSES is the exit status of a command.
result()
{
	number=$((number + 1))
	[ "$1" -eq 0 ] || failures=$((failures + 1))
	[ "$1" -eq 0 ] && echo "ok $number - $2" || echo "not ok $number - $2"
}

mkdir -p "$directory"
stop() { "$top/test/scripts/stop_private_cluster.sh" "$programs" "$data"; }
stop
rm -rf "$data" "$data.log" "$data.socket"
trap stop EXIT
socket=$("$top/test/scripts/start_private_cluster.sh" "$programs" "$data" --conf 'fsync = off' --conf 'jit = off')
# Databases that tests create already have the extension, because template1 has it. The databases of
# pg_regress come from template0, and show that the extension can be created.
"$programs/psql" -Xq -h "$socket" -U postgres -d template1 -c 'CREATE EXTENSION yquota'

# pg_regress would stop at a test without expected output.
names=()
for ((i = part - 1; i < ${#files[@]}; i += parts)); do
	name=${files[i]##*/}
	name=${name%.*}
	if [ -e "expected/$name.out" ]; then
		names+=("$name")
	else
		result 1 "$name has expected output"
	fi
done
PATH=$programs:$PATH PGHOST=$socket PGPORT=5432 PGUSER=postgres \
	make --no-print-directory installcheck "$kind=${names[*]}" "$other=" EXTRA_REGRESS_OPTS="--outputdir='$directory'" \
	PG_CONFIG="$PG_CONFIG" >"$log" 2>&1 || true

# The output of pg_regress before version 16, and from 16 on.
for name in "${names[@]}"; do
	grep -qE "^(test +$name +\.\.\. ok|ok [0-9]+ +[-+] $name )" "$log" && result 0 "$name" || result 1 "$name"
done
stop
! grep -E 'PANIC:|TRAP:|terminated by signal' "$data.log" >&2 && result 0 'no server process crashed' || result 1 'no server process crashed'
echo "1..$number"
if [ "$failures" -gt 0 ]; then
	[ -s "$directory/regression.diffs" ] && head -n 300 "$directory/regression.diffs" >&2 || tail -n 30 "$log" >&2
	exit 1
fi
