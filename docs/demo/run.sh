#!/bin/bash
# run.sh
#
# "make demo": build yquota, start a private cluster with the worker on a clock set by hand, replay
# a cluster's history and print the results. The cluster stays for psql until "make demo-stop" or
# the next "make demo".
#
# Environment, all optional:
#   TRACE           directory with openb_pods.csv and openb_nodes.csv; without it the
#                   history is generated
#   DEMO_DAYS       length of the generated history (30), or the greatest length of the trace
#   DEMO_PROGRAMS   directory with the programs of a server that has yquota; then nothing is built
#   DEMO_DIRECTORY  where the cluster lives; its name fits into a socket's path and
#                   the server's account may work there

# The caller's locale decides the characters of the chart, and the caller's directory decides the path of the trace. So
# read both before common.sh sets the locale of scripts.
charmap=$(locale charmap 2>/dev/null || true)
trace=${TRACE:-}
[ -z "$trace" ] || trace=$(cd -- "$trace" && pwd) || exit 1

. "$(dirname "$0")/../../test/scripts/common.sh"

demo=$top/docs/demo
database=demo

if [ -n "$trace" ]; then
	for file in openb_pods.csv openb_nodes.csv; do
		[ -r "$trace/$file" ] || die "TRACE is \"$trace\", which has no readable $file"
	done
	days=${DEMO_DAYS:-150}
else
	days=${DEMO_DAYS:-30}
fi
[[ $days =~ ^[1-9][0-9]{0,2}$ ]] || die "DEMO_DAYS is \"$days\", not a number of days"

if [ "$charmap" = UTF-8 ]; then
	average=█ peak=░
else
	average='#' peak=:
fi

if [ -z "${DEMO_PROGRAMS:-}" ]; then
	"$top/test/scripts/install_packages.sh" build
fi
directory=${DEMO_DIRECTORY:-$("$top/test/scripts/build_dir.sh")/demo}
as_server mkdir -p "$directory"

exec 9>"$directory.lock"
flock -n 9 || die 'another "make demo" of this checkout is running'

"$demo/stop.sh"
if [ -n "${DEMO_PROGRAMS:-}" ]; then
	programs=$DEMO_PROGRAMS
else
	say 'building yquota'
	programs=$("$top/test/scripts/make_private_server.sh" "$directory")
fi
echo "$programs" | as_server tee "$directory/programs" >/dev/null

# Prices take effect at the full hour at which they are computed. The cluster is not durable, because it is only a
# demonstration.
socket=$("$top/test/scripts/start_private_cluster.sh" "$programs" "$directory/data" --preload yquota \
	--conf 'fsync = off' --conf 'synchronous_commit = off' --conf 'jit = off' \
	--conf "yquota.price_interval = '1h'" --conf "yquota.price_lead = 0" \
	--conf "yquota.compute_interval = '1h'" 9>&-)

connection=(-h "$socket" -p 5432 -U postgres)
run_sql()
{
	PGCLIENTENCODING=UTF8 PGTZ=UTC PGAPPNAME='make demo' PGOPTIONS='-c client_min_messages=warning' \
		"$programs/psql" -Xq -v ON_ERROR_STOP=1 -P pager=off -P footer=off "${connection[@]}" -d "$database" "$@"
}

began=$SECONDS
database=postgres run_sql -c "CREATE DATABASE $database"
run_sql -c 'CREATE EXTENSION yquota' -f "$demo/stage.sql"
if [ -n "$trace" ]; then
	run_sql -v trace="$trace" -v days="$days" -f "$demo/trace.sql"
else
	run_sql -v days="$days" -f "$demo/generate.sql"
fi
run_sql -f "$demo/prepare.sql" -f "$demo/intro.sql" -f "$demo/replay.sql"
echo "replayed in $((SECONDS - began)) seconds"
run_sql -v average="$average" -v peak="$peak" -f "$demo/report.sql"

report=${DEMO_DIRECTORY:-${directory%/*}}/report.html
run_sql -At -c "SELECT yquota.report_html(min(\"from\"), yquota.clock()) FROM yquota.charge" | as_server tee "$report" >/dev/null

cat <<END

A report of all of it, with charts, is in

  $report

The cluster is running, its clock stands at the end of the history.  Open it with

  $programs/psql -h $socket -U postgres $database

and try, for example,

  SELECT * FROM yquota.current_price;
  SELECT * FROM yquota.container_cost WHERE project = 'atlas' ORDER BY cost DESC LIMIT 10;
  SELECT yquota.set_clock(yquota.clock() + '1 day');  SELECT * FROM yquota.project_balance;
  \i $demo/report.sql

"make demo-stop" ends it.
END
