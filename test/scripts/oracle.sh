#!/bin/bash
# oracle.sh [AREA...]
#
# Build test/oracle against the Hadoop that its pom.xml names, and record or compare workloads; see
# test/oracle/README.md. AREA is one of the areas of area_of() below, by default all. The
# environment selects what to do:
#
#   ORACLE_SEED=N ORACLE_COUNT=N  generate ORACLE_COUNT workloads (default 20)
#                                 of each area, with seeds from ORACLE_SEED
#                                 (default 1) on, and record them below
#                                 build/oracle/records
#   ORACLE_FAMILY=NAME            only workloads of this family
#   ORACLE_COMPARE=N              instead, play N recorded workloads of each
#                                 area again, and report which of them
#                                 give the recorded results
#   ORACLE_RECORDED=DIRECTORY     a file AREA.jsonl or AREA.jsonl.gz there is
#                                 compared, too
#   ORACLE_BENCH=NODES            instead, time rounds of Hadoop's preemption in
#                                 a cluster of so many nodes; 10000 takes 8 GB

. "$(dirname "$0")/common.sh"

made=$top/build/oracle
areas=(allocation queue-figures submissions queue-decisions preemption opportunistic container-queue reservation plan-algebra)

# area_of AREA: set class, and set recorded to the repository's file, if any.
area_of()
{
	recorded=
	case $1 in
		allocation) class=yquota.oracle.Allocation recorded=test/scheduler/decisions.jsonl ;;
		queue-figures) class=yquota.oracle.QueueFigures recorded=test/queues/figures.jsonl ;;
		submissions) class=yquota.oracle.Submissions recorded=test/queues/submissions.jsonl ;;
		queue-decisions) class=yquota.oracle.QueueDecisions recorded=test/queues/decisions.txt ;;
		opportunistic) class=yquota.oracle.Opportunistic recorded=test/scheduler/opportunistic.jsonl ;;
		container-queue) class=yquota.oracle.ContainerQueue ;;
		preemption) class=yquota.oracle.Preemption recorded=test/scheduler/preemption.jsonl ;;
		reservation) class=yquota.oracle.Reservation recorded=test/scheduler/reservation.jsonl ;;
		plan-algebra) class=yquota.oracle.PlanAlgebra recorded=test/scheduler/step_function.jsonl ;;
		*) die "no area is named \"$1\"; there are: ${areas[*]}" ;;
	esac
}

install_java()
{
	local missing=()

	command -v javac >/dev/null || missing+=(default-jdk-headless)
	command -v mvn >/dev/null || missing+=(maven)
	[ ${#missing[@]} -gt 0 ] || return 0
	say "installing ${missing[*]}"
	[ "$(id -u)" -eq 0 ] || die "as root: apt-get install ${missing[*]}"
	DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "${missing[@]}" >&2 ||
		{ apt-get -qy update >&2 && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "${missing[@]}" >&2; }
}

build()
{
	say "building test/oracle"
	mvn -q -B -f "$top/test/oracle/pom.xml" "-Dmade=$made/maven" compile dependency:copy-dependencies "-DoutputDirectory=$made/lib" >&2
	mkdir -p "$made/configuration" "$made/records"
	# Hadoop's log would hide the results. Its resource manager for tests sets the level of the root
	# logger, so a threshold turns the log off.
	printf 'log4j.threshold=OFF\n' >"$made/configuration/log4j.properties"
}

# play ARGUMENT...: run the class with the heap size in "heap". Its standard error has only Hadoop's
# output, which is shown if it fails.
play()
{
	java "-Xmx$heap" -XX:+UseSerialGC "-Doracle.configuration=$made/configuration" \
		-cp "$made/configuration:$made/maven/classes:$made/lib/*" "$class" "$@" 2>"$made/errors" ||
		{ tail -n 20 "$made/errors" >&2; return 1; }
}

record()
{
	local workloads="$made/records/$1.workloads.jsonl" records="$made/records/$1.jsonl"

	say "recording $1"
	play generate "${ORACLE_SEED:-1}" "${ORACLE_COUNT:-20}" ${ORACLE_FAMILY:+"$ORACLE_FAMILY"} >"$workloads"
	play record <"$workloads" >"$records"
	say "$(grep -c . "$records") records in ${records#"$top"/}"
}

compare()
{
	local file

	for file in ${recorded:+"$top/$recorded"} ${ORACLE_RECORDED:+"$ORACLE_RECORDED/$1.jsonl" "$ORACLE_RECORDED/$1.jsonl.gz"}; do
		[ -e "$file" ] || continue
		printf '%s, %s\n' "$1" "$file"
		zcat -f "$file" | play compare "$ORACLE_COMPARE" || failed=1
	done
}

failed=0
heap=1500m
[ $# -gt 0 ] && areas=("$@")
for area in "${areas[@]}"; do
	area_of "$area"
done
install_java
build
if [ -n "${ORACLE_BENCH:-}" ]; then
	class=yquota.oracle.PreemptionBench heap=8g
	play "$ORACLE_BENCH"
	exit
fi
for area in "${areas[@]}"; do
	area_of "$area"
	if [ -n "${ORACLE_COMPARE:-}" ]; then
		compare "$area"
	else
		record "$area"
	fi
done
exit "$failed"
