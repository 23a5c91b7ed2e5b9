#!/bin/bash
# check.sh
#
# "make check": install the missing packages, build strictly, and run every test of the tree, several programs at a
# time. The output ends with the line "N passed, N failed, N skipped". The unit is a TAP assertion; a regression test
# or an isolation spec is one. A runner that breaks down adds one failure. The exit status is zero only if a test
# passed and none failed.

. "$(dirname "$0")/common.sh"
. "$top/test/scripts/testing.sh"

begin_testing check

# The private cluster is for pgTAP and the property tests. They do not conflict, because the
# property tests create their own databases.
private_cluster
{ in_database postgres 'CREATE DATABASE yquota_pgtap' && in_database yquota_pgtap 'CREATE EXTENSION pgtap'; } || broken 'no database for pgTAP'

# Long programs come first, so that no processor idles at the end while one of them still runs. The regression tests
# run in two parts side by side, because all of them together would take longer than everything else.
list=("test/scripts/installcheck.sh REGRESS 1/2" "test/scripts/installcheck.sh REGRESS 2/2")
mapfile -t own < <(files 'test/t/*.pl')
if ! own_servers; then
	printf '  skipped: %s: the server has no PostgreSQL::Test::Cluster\n' "${own[@]}"
	count 0 0 ${#own[@]}
	own=()
fi
for file in test/t/{locales,all_functions,archive_foreign,allocation_decisions,contention,dump_books,documentation,demo,reservation_charge_crash}.pl; do
	[[ " ${own[*]} " != *" $file "* ]] || list+=("$file")
done
list+=("test/scripts/installcheck.sh ISOLATION")
mapfile -t -O ${#list[@]} list < <(files 'test/property/*' | while read -r file; do [ ! -x "$tree/$file" ] || echo "$file"; done)
list+=(test/scripts/check_shape.sh)
mapfile -t -O ${#list[@]} list < <(files 'test/pgtap/*.sql')
for file in "${own[@]}"; do
	[[ " ${list[*]} " == *" $file "* ]] || list+=("$file")
done

# Most programs wait from time to time, so run more of them than there are processors.
jobs=$((2 * $(nproc)))
environment+=(PGDATABASE=yquota_pgtap)
heading "tests (${#list[@]} programs, $jobs at a time)"
tap --jobs "$jobs" "${list[@]}"
never_crashed
finish
