#!/bin/bash
# soak.sh
#
# "make soak": install the missing packages, build strictly, and run the tests that find more the longer they run.
# Each test runs for its share of the time, or longer until it has done its promised minimum. The tests of test/soak
# run only here; "make check" also runs the others for a short time. The script builds Citus, where it is available,
# for the tests that use it. The output names the counts of each test and ends like the output of "make check".
#
# Environment, all optional:
#   SOAK_MINUTES  time for all of them together, 20 by default; shared evenly,
#                 and time that one test leaves goes to the tests after it
#   SOAK_SHORT    not empty: the tests of test/soak alone, each for a short time of
#                 its own
#   SOAK_ONLY     names of tests (files without folder and suffix), separated
#                 by commas
#
# A test gets its share in SOAK_SECONDS and asks Soak.pm whether to go on.

. "$(dirname "$0")/common.sh"
. "$top/test/scripts/testing.sh"

# The tests in test/property share the private cluster, and the other tests start their own servers.
short=(
	test/soak/analyze.pl
	test/soak/bench.pl
	test/soak/feed_jdbc.pl
	test/soak/feed_node_postgres.pl
	test/soak/feed_pgx.pl
	test/soak/feed_psycopg.pl
	test/soak/focus_validator.pl
	test/soak/fuzz.pl
	test/soak/kubernetes_feed.pl
	test/soak/kubernetes_jobs.pl
	test/soak/memory.pl
	test/soak/opportunistic_simulation.pl
	test/soak/prometheus.pl
	test/soak/sqlsmith.pl
	test/soak/webhook_relay.pl
	test/soak/yarn_feed.pl
)
tests=(
	"${short[@]}"
	test/soak/bill_html.pl
	test/property/alerts.pl
	test/property/allocation.pl
	test/property/arrival.pl
	test/property/books.pl
	test/property/concurrent.pl
	test/property/deferred.pl
	test/property/kept.pl
	test/property/live.pl
	test/property/node_queue.pl
	test/property/preemption.pl
	test/property/reservation.pl
	test/property/reservation_charge.pl
	test/property/prices.pl
	test/property/promotion.pl
	test/property/replay.pl
	test/property/explaining.pl
	test/property/sharing.pl
	test/property/slots.pl
	test/property/submission.pl
	test/property/void.pl
	test/t/all_functions.pl
	test/t/allocation_load.pl
	test/t/archive_citus.pl
	test/t/contention.pl
	test/t/crash.pl
	test/t/failover.pl
	test/t/full_disk.pl
	test/t/hadoop_configuration.pl
	test/t/interrupted.pl
	test/t/locales.pl
	test/t/lock_pairs.pl
	test/t/physical_backup.pl
	test/t/report_html.pl
	test/t/reservation_plan_html.pl
	test/t/scheduler_crash.pl
	test/t/stale_queues.pl
	test/t/submission_crash.pl
	test/t/two_phase.pl
)

minutes=${SOAK_MINUTES:-20}
[[ $minutes =~ ^[1-9][0-9]{0,5}$ ]] || die "SOAK_MINUTES is \"$minutes\", not a number of minutes"

name_of() { basename "${1%.*}"; }

# choose NAME...: run only these tests.
choose()
{
	local name test all=("${tests[@]}")

	tests=()
	for name in "$@"; do
		for test in "${all[@]}"; do
			[ "$(name_of "$test")" != "$name" ] || { tests+=("$test"); continue 2; }
		done
		die "SOAK_ONLY names \"$name\", which is none of: $(for test in "${all[@]}"; do name_of "$test"; done | paste -sd ' ')"
	done
}

time="$minutes minutes"
if [ -n "${SOAK_SHORT:-}" ]; then
	tests=("${short[@]}")
	time='a short time each'
fi
if [ -n "${SOAK_ONLY:-}" ]; then
	IFS=, read -ra only <<<"$SOAK_ONLY"
	choose "${only[@]}"
fi

if [[ " ${tests[*]} " == *" test/t/archive_citus.pl "* ]]; then
	"$top/test/scripts/make_citus.sh" || say 'Citus cannot be had here: its tests are skipped'
fi
if [[ " ${tests[*]} " == *" test/soak/kubernetes_"* ]]; then
	"$top/test/scripts/make_kubernetes.sh" cached || say 'Tests that need these programs are skipped'
fi
begin_testing soak ${SOAK_SHORT:+short_soak}

if [[ " ${tests[*]} " == *" test/property/"* ]]; then
	private_cluster
	if ! in_database postgres 'CREATE DATABASE yquota_property'; then
		broken 'no database for the property tests'
		finish
	fi
fi

heading "soak (${#tests[@]} tests, $time)"
end=$((SECONDS + 60 * minutes))
for i in "${!tests[@]}"; do
	left=$((end - SECONDS))
	share=$((left / (${#tests[@]} - i)))
	if [[ ${tests[i]} == test/property/* ]]; then
		own_cluster
		environment+=(PGDATABASE=yquota_property)
	elif ! own_servers; then
		broken "${tests[i]}: the server has no PostgreSQL::Test::Cluster"
		continue
	fi
	[ -n "${SOAK_SHORT:-}" ] || environment+=(SOAK_SECONDS=$((share > 1 ? share : 1)))
	tap "${tests[i]}"
done

[[ " ${tests[*]} " != *" test/property/"* ]] || never_crashed
finish
