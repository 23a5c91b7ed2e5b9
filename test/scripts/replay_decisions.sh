#!/bin/bash
# replay_decisions.sh [FILE...]
#
# "make oracle-replay": replay records of the oracle's area "allocation" in yquota, as test/t/allocation_decisions.pl
# does with the records of the tree. For each workload the output says whether yquota decides as Hadoop did, or names
# the first step that differs. The default file is the record of "make oracle". Yquota is built below build/replay,
# and a private cluster runs there. The status is 0 if no workload differs.

. "$(dirname "$0")/common.sh"

[ $# -gt 0 ] || set -- "$top/build/oracle/records/allocation.jsonl"
for file; do
	[ -r "$file" ] || die "cannot read \"$file\""
done
"$top/test/scripts/install_packages.sh" build
directory=$("$top/test/scripts/build_dir.sh")/replay
as_server mkdir -p "$directory"

exec 9<"$directory"
flock -n 9 || die 'another "make oracle-replay" of this checkout is running'

say 'building yquota'
programs=$("$top/test/scripts/make_private_server.sh" "$directory" 2>/dev/null)
data=$directory/data
stop()
{
	"$top/test/scripts/stop_private_cluster.sh" "$programs" "$data"
	as_server rm -rf "$data" "$data.socket"
}
stop
trap stop EXIT
socket=$("$top/test/scripts/start_private_cluster.sh" "$programs" "$data" --conf 'fsync = off' 9<&-)

sql() { as_server "$programs/psql" -XqAt -v ON_ERROR_STOP=1 -h "$socket" -p 5432 -U postgres postgres; }

{ echo 'CREATE EXTENSION yquota;'; cat "$top/test/scheduler/decisions.sql"; } | sql

# play RECORD: replay a record. It goes to standard input, because it is too long for a command's
# argument.
play()
{
	printf "BEGIN; SET client_min_messages = error;
		SELECT coalesce(p.difference, concat_ws(', ', 'as in Hadoop', p.parting)) FROM replay.play(\$record\$%s\$record\$) AS p; ROLLBACK;\n" "$1" | sql
}

failed=0
for file; do
	while IFS= read -r record; do
		[[ $record == '{'* ]] || continue
		name=${record#*'"name":"'}
		name=${name%%'"'*}
		result=$(play "$record")
		printf '%s: %s\n' "$name" "${result#"$name", }"
		[[ $result == 'as in Hadoop'* ]] || failed=1
	done <"$file"
done
exit "$failed"
