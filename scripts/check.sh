#!/bin/bash
# check.sh
#
# "make check": install what is missing, build strictly, run every test of the
# tree in a private server, and end with the line "N passed, N failed, N
# skipped".  One unit is a regression test, an isolation spec or a TAP
# assertion (the checks of the sources, TAP, pgTAP and property tests); a
# runner that breaks down is one failure more.  The exit status is zero only
# if something passed and nothing failed.

. "$(dirname "$0")/common.sh"
. "$top/scripts/testing.sh"

# installcheck KIND OTHER FILE...: the packagers' target with the list of the
# other kind emptied.  pg_regress would stop at a test without expected output,
# so that one is not given to it.  What is not reported as passed has failed.
installcheck()
{
	local kind=$1 other=$2 log=$stage/$1.log passed file name names=()

	shift 2
	for file in "$@"; do
		name=${file##*/}
		name=${name%.*}
		if [ -e "$tree/expected/$name.out" ]; then
			names+=("$name")
		else
			echo "  FAILED: no expected/$name.out"
		fi
	done
	(cd "$tree" && as_server env "${environment[@]}" \
		make --no-print-directory installcheck "$kind=${names[*]}" "$other=" PG_CONFIG="$PG_CONFIG" 2>&1) |
		as_server tee "$log" | grep --line-buffered -E '^(test|ok|not ok|#|psql)|could not|FAILED' |
		sed -u 's/^/  /' || true
	passed=$(grep -cE '^(test +[^ ]+ +\.\.\. ok|ok [0-9]+ )' "$log" || true)
	count "$passed" $(($# - passed)) 0
	if [ "$passed" -lt $# ]; then
		(cd "$tree" && cat regression.diffs output_iso/regression.diffs 2>/dev/null || true) | head -n 300
		echo "  FAILED: $(($# - passed)) of $#; see $log and, below $tree, regression.diffs and output_iso"
	fi
}

begin_testing check

heading 'shape of the sources'
tap scripts/check_shape.sh

private_cluster

mapfile -t list < <(files 'test/sql/*.sql')
if [ ${#list[@]} -gt 0 ]; then
	heading "regression tests (${#list[@]})"
	installcheck REGRESS ISOLATION "${list[@]}"
fi

mapfile -t list < <(files 'test/specs/*.spec')
if [ ${#list[@]} -gt 0 ]; then
	heading "isolation specs (${#list[@]})"
	installcheck ISOLATION REGRESS "${list[@]}"
fi

mapfile -t list < <(files 'test/pgtap/*.sql')
if [ ${#list[@]} -gt 0 ]; then
	heading "pgTAP (${#list[@]} files)"
	if database yquota_pgtap pgtap yquota; then
		environment+=(PGDATABASE=yquota_pgtap)
		tap "${list[@]}"
	else
		broken 'no database for pgTAP'
	fi
fi

mapfile -t list < <(files 'test/property/*' | while read -r file; do [ ! -x "$tree/$file" ] || echo "$file"; done)
if [ ${#list[@]} -gt 0 ]; then
	heading "property tests (${#list[@]} programs)"
	if database yquota_property yquota; then
		environment+=(PGDATABASE=yquota_property)
		tap "${list[@]}"
	else
		broken 'no database for the property tests'
	fi
fi

never_crashed

mapfile -t list < <(files 'test/t/*.pl')
if [ ${#list[@]} -gt 0 ]; then
	heading "TAP tests with servers of their own (${#list[@]} files)"
	if own_servers; then
		tap --jobs "$(nproc)" "${list[@]}"
	else
		printf '  skipped: %s: the server has no PostgreSQL::Test::Cluster\n' "${list[@]}"
		count 0 0 ${#list[@]}
	fi
fi

finish
