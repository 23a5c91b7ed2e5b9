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

cannot_start()
{
	echo '0 passed, 1 failed, 0 skipped'
	exit 1
}

"$top/scripts/install_packages.sh" || cannot_start
server_paths
build=$("$top/scripts/build_dir.sh") || cannot_start
stage=$build/check
as_server mkdir -p "$stage" || cannot_start

# One check at a time; the lock ends with this process.
exec 9<"$stage"
flock -n 9 || {
	say 'another "make check" of this checkout is running'
	cannot_start
}

counts=$stage/counts
tree=$stage/tree
data=$stage/data
programs=$stage/server$bindir

heading()
{
	[ -z "${started:-}" ] || printf '   %d s\n' $((SECONDS - started))
	started=$SECONDS
	[ -z "${1:-}" ] || printf '== %s\n' "$1"
}

count() { echo "$1 $2 $3" | as_server tee -a "$counts" >/dev/null; }

# broken WHAT: a runner broke down.
broken() { printf '  FAILED: %s\n' "$1"; count 0 1 0; }

finish()
{
	local summary

	heading
	"$top/scripts/stop_private_cluster.sh" "$programs" "$data" || broken 'the private cluster did not stop'
	summary=$(awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped", p, f, s }' "$counts")
	echo "$summary" | as_server tee "$stage/summary"
	[[ $summary != "0 passed"* && $summary == *" 0 failed,"* ]]
	exit
}

# files GLOB: the files of the copied tree, nothing if there are none.
files() { (cd "$tree" && compgen -G "$1" | LC_ALL=C sort) || true; }

# tap FILE...: run them in the copied tree.
tap()
{
	(cd "$tree" && as_server env "${environment[@]}" perl scripts/run_tap.pl "$counts" "$@") || true
	# no counts of this run: the runner itself died
	[ "$(wc -l <"$counts")" -gt "${counted:-0}" ] || broken 'the runner of TAP tests died'
	counted=$(wc -l <"$counts")
}

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

cd "$stage"
as_server rm -f "$counts" "$stage/summary"
as_server touch "$counts"
counted=0
"$top/scripts/stop_private_cluster.sh" "$programs" "$data"
as_server rm -rf "$data" "$data.log" "$data.socket" "$stage/tap"
as_server mkdir "$stage/tap"

heading 'build, warnings are errors'
if ! "$top/scripts/make_private_server.sh" "$stage" STRICT=1 >/dev/null; then
	broken 'yquota does not build'
	finish
fi

environment=(
	PATH="$programs:$PATH" PG_CONFIG="$PG_CONFIG"
	PGUSER=postgres PGPORT=5432 PGHOST="$data.socket" PGDATABASE=postgres
)

heading 'shape of the sources'
tap scripts/check_shape.sh

heading 'private cluster'
if ! "$top/scripts/start_private_cluster.sh" "$programs" "$data" --conf 'fsync = off' >/dev/null 9<&-; then
	broken 'the private cluster did not start'
	finish
fi
trap '"$top/scripts/stop_private_cluster.sh" "$programs" "$data"' EXIT

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

# database NAME EXTENSION...: a fresh one of the private cluster.
database()
{
	as_server env "${environment[@]}" psql -Xq -v ON_ERROR_STOP=1 -c "CREATE DATABASE $1" &&
		printf 'CREATE EXTENSION %s;\n' "${@:2}" |
		as_server env "${environment[@]}" psql -Xq -v ON_ERROR_STOP=1 -d "$1"
}

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

# Only this cluster must never crash: the TAP tests crash theirs on purpose.
if as_server grep -E 'PANIC:|TRAP:|terminated by signal' "$data.log"; then
	broken "a server process crashed, see $data.log"
fi

mapfile -t list < <(files 'test/t/*.pl')
if [ ${#list[@]} -gt 0 ]; then
	heading "TAP tests with servers of their own (${#list[@]} files)"
	perl_library=${pgxs%/makefiles/*}/test/perl
	if [ -f "$perl_library/PostgreSQL/Test/Cluster.pm" ]; then
		environment=(
			PATH="$programs:$PATH" PG_CONFIG="$PG_CONFIG"
			PG_REGRESS="${pgxs%/makefiles/*}/test/regress/pg_regress" PERL5LIB="$perl_library:$tree/test/t"
			TESTDIR="$stage/tap" TESTDATADIR="$stage/tap/tmp_check" TESTLOGDIR="$stage/tap/tmp_check/log"
			PGPORT=65432
		)
		as_server mkdir -p "$stage/tap/tmp_check/log"
		tap "${list[@]}"
	else
		printf '  skipped: %s: the server has no PostgreSQL::Test::Cluster\n' "${list[@]}"
		count 0 0 ${#list[@]}
	fi
fi

finish
