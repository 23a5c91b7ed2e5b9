#!/bin/bash
# bench.sh
#
# "make bench": install the missing packages, build yquota and measure it against its baselines in a private cluster
# (test/bench). The command prints one table of figures, targets and verdicts, and writes it to build/bench.md and
# build/bench.json. A missed target does not make the command fail; an error in the books does.
#
# Environment, all optional:
#   BENCH_SCALE        full, small (minutes) or toy (seconds: only that it works)
#   BENCH_ONLY         regular expression: cases to run
#   BENCH_REPETITIONS  instead of the scale's own number
#   BENCH_PROGRAMS     programs of a server that has yquota already; nothing is built
#   BENCH_DIRECTORY    where the cluster lives and the report goes; its name fits
#                      into a socket's path and the server's account may work there

. "$(dirname "$0")/common.sh"

scale=${BENCH_SCALE:-full}
case $scale in
	full | small | toy) ;;
	*) die "BENCH_SCALE is \"$scale\", not full, small or toy" ;;
esac

if [ -z "${BENCH_PROGRAMS:-}" ]; then
	"$top/test/scripts/install_packages.sh" build
fi
report=${BENCH_DIRECTORY:-$("$top/test/scripts/build_dir.sh")}
directory=$report/bench
as_server mkdir -p "$directory"

exec 9<"$directory"
flock -n 9 || die 'another "make bench" of this checkout is running'

if [ -n "${BENCH_PROGRAMS:-}" ]; then
	programs=$BENCH_PROGRAMS
else
	say 'building yquota'
	programs=$("$top/test/scripts/make_private_server.sh" "$directory")
fi

data=$directory/data
stop()
{
	"$top/test/scripts/stop_private_cluster.sh" "$programs" "$data"
	as_server rm -rf "$data" "$data.socket" "$directory/files"
}
stop
as_server rm -f "$data.log"
as_server mkdir "$directory/files"
trap stop EXIT

# At toy size nothing is measured, so writes need not be durable.
[ "$scale" = toy ] && fsync=off || fsync=on

# Use a quarter of the machine's memory, at most 2 GB.
shared_buffers=$(awk '/^MemTotal:/ { mb = int($2 / 4096); print (mb > 2048 ? 2048 : mb) "MB" }' /proc/meminfo)

# Autovacuum is off, because it would run in some runs and not in others. Each database is vacuumed
# and analyzed before it is measured. Only the bench itself makes checkpoints, for the same reason.
# The worker runs in no database; the bench compacts between the timed parts.
socket=$("$top/test/scripts/start_private_cluster.sh" "$programs" "$data" --preload yquota \
	--conf "fsync = $fsync" --conf "shared_buffers = $shared_buffers" --conf 'max_wal_size = 8GB' \
	--conf 'min_wal_size = 2GB' --conf 'checkpoint_timeout = 1h' --conf 'work_mem = 4MB' \
	--conf 'autovacuum = off' --conf "timezone = 'UTC'" --conf 'max_connections = 50' 9<&-)

# Copy the program, because the server's account may be unable to enter the checkout.
as_server rm -rf "$directory/program"
as_server mkdir "$directory/program"
tar -C "$top/test/bench" -cf - . | as_server tar -C "$directory/program" -xf -
cd "$directory"
as_server env PATH="$programs:$PATH" PGHOST="$socket" PGPORT=5432 PGUSER=postgres PGTZ=UTC \
	BENCH_SCALE="$scale" BENCH_ONLY="${BENCH_ONLY:-}" BENCH_REPETITIONS="${BENCH_REPETITIONS:-}" \
	perl "$directory/program/bench.pl" "$directory/files" "$report/bench"
