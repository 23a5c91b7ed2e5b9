# testing.sh - sourced after common.sh by the scripts that run tests (check.sh, soak.sh).
#
# begin_testing NAME [PURPOSE] installs the packages that "make NAME" (check or soak), or the purpose of
# install_packages.sh, needs. Then it builds yquota strictly into build/NAME, one run at a time. The functions
# private_cluster, tap and others run tests there. The function finish prints the sums, "N passed, N failed, N
# skipped", and ends the script. The status is zero only if a test passed and none failed. The unit of the sums is a
# TAP assertion; a runner that breaks down adds one failure.
#
# The file sets stage (build/NAME), tree (the copy of the checkout in it), counts (the file of sums) and programs (the
# private server's). It also sets run (the directory of the clusters), data (the private cluster's) and environment
# (of the tests; a list of VARIABLE=VALUE).

cannot_start()
{
	echo '0 passed, 1 failed, 0 skipped'
	exit 1
}

begin_testing()
{
	"$top/test/scripts/install_packages.sh" "${2:-$1}" || cannot_start
	server_paths
	stage=$("$top/test/scripts/build_dir.sh")/$1 || cannot_start
	as_server mkdir -p "$stage" || cannot_start

	# The lock is released when this process ends.
	exec 9<"$stage"
	flock -n 9 || {
		say "another \"make $1\" of this checkout is running"
		cannot_start
	}

	counts=$stage/counts
	tree=$stage/tree
	programs=$stage/server$bindir
	perl_library=${pgxs%/makefiles/*}/test/perl
	cd "$stage"
	as_server rm -f "$counts" "$stage/summary"
	as_server touch "$counts"
	remove_run
	make_run

	heading 'build, warnings are errors'
	if ! "$top/test/scripts/make_private_server.sh" "$stage" STRICT=1 >/dev/null; then
		broken 'yquota does not build'
		finish
	fi
	own_cluster
}

# The clusters are in memory if there is room. A database has 700 files, and on a disk the kernel
# takes longer to create and remove them than yquota's tests take.
make_run()
{
	run=$stage/run
	if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ "$(df --output=avail -B1G /dev/shm | tail -n 1)" -ge 5 ] &&
		[ "$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)" -ge 7 ]; then
		run=$(as_server mktemp -d /dev/shm/yquota.XXXXXX)
		as_server ln -s "$run" "$stage/run"
		export TMPDIR=$run
	fi
	data=$run/data
	as_server mkdir -p "$run/tap/tmp_check/log"
}

remove_run()
{
	run=$(readlink -f "$stage/run")
	"$top/test/scripts/stop_private_cluster.sh" "$programs" "$run/data"
	as_server rm -rf "$run" "$stage/run"
}

heading()
{
	[ -z "${started:-}" ] || printf '   %d s\n' $((SECONDS - started))
	started=$SECONDS
	[ -z "${1:-}" ] || printf '== %s\n' "$1"
}

count() { echo "$1 $2 $3" | as_server tee -a "$counts" >/dev/null; }

# broken WHAT: report that a runner broke down.
broken() { printf '  FAILED: %s\n' "$1"; count 0 1 0; }

finish()
{
	local summary

	heading
	"$top/test/scripts/stop_private_cluster.sh" "$programs" "$data" || broken 'the private cluster did not stop'
	summary=$(awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped", p, f, s }' "$counts")
	echo "$summary" | as_server tee "$stage/summary"
	# keep the logs if tests failed
	[[ $summary != *" 0 failed,"* ]] || remove_run
	[[ $summary != "0 passed"* && $summary == *" 0 failed,"* ]]
	exit
}

# files GLOB: print the matching files of the copied tree, or nothing.
files() { (cd "$tree" && compgen -G "$1" | LC_ALL=C sort) || true; }

# tap FILE...: run these tests in the copied tree.
tap()
{
	local counted

	counted=$(wc -l <"$counts")
	(cd "$tree" && as_server env "${environment[@]}" perl test/scripts/run_tap.pl "$counts" "$@") || true
	# if this run has added no counts, the runner itself died
	[ "$(wc -l <"$counts")" -gt "$counted" ] || broken 'the runner of TAP tests died'
}

# Set the environment of tests that use the private cluster.
own_cluster()
{
	environment=(
		PATH="$programs:$PATH" PG_CONFIG="$PG_CONFIG"
		PGUSER=postgres PGPORT=5432 PGHOST="$data.socket" PGDATABASE=postgres
	)
}

# Also set the environment of tests that start their own servers. This fails if the server was
# installed without the Perl modules for that.
own_servers()
{
	own_cluster
	# Many programs start several servers, and initdb and CREATE EXTENSION take half a second each.
	# So they copy a cluster. Its databases already have the extension, except those made from
	# template0.
	INITDB_TEMPLATE=$run/template
	if [ ! -e "$INITDB_TEMPLATE" ]; then
		as_server "$programs/initdb" -D "$INITDB_TEMPLATE" -A trust -N >/dev/null || broken 'there is no cluster to copy'
		as_server "$programs/pg_ctl" -D "$INITDB_TEMPLATE" -w -o "-F -h '' -k '$run'" -l "$INITDB_TEMPLATE.log" start >/dev/null &&
			as_server "$programs/psql" -Xq -v ON_ERROR_STOP=1 -h "$run" -d template1 -c 'CREATE EXTENSION yquota' -c '\c postgres' -c 'CREATE EXTENSION yquota' &&
			as_server "$programs/pg_ctl" -D "$INITDB_TEMPLATE" -w stop >/dev/null || broken 'the extension is not in the cluster to copy'
		echo 'jit = off' | as_server tee "$run/tap/settings" >/dev/null
	fi
	environment+=(
		PATH="$tree/test/scripts/programs:$programs:$PATH" INITDB_TEMPLATE="$INITDB_TEMPLATE" TEMP_CONFIG="$run/tap/settings"
		PG_REGRESS="${pgxs%/makefiles/*}/test/regress/pg_regress" PERL5LIB="$perl_library:$tree/test/t"
		TESTDIR="$run/tap" TESTDATADIR="$run/tap/tmp_check" TESTLOGDIR="$run/tap/tmp_check/log"
		YQUOTA_STAGE="$stage"
	)
	[ -f "$perl_library/PostgreSQL/Test/Cluster.pm" ]
}

private_cluster()
{
	heading 'private cluster'
	if ! "$top/test/scripts/start_private_cluster.sh" "$programs" "$data" --conf 'fsync = off' --conf 'jit = off' >/dev/null 9<&-; then
		broken 'the private cluster did not start'
		finish
	fi
	trap '"$top/test/scripts/stop_private_cluster.sh" "$programs" "$data"' EXIT
	in_database template1 'CREATE EXTENSION yquota' || broken 'the extension cannot be created'
}

# in_database NAME SQL: run SQL in a database of the private cluster.
in_database() { as_server env "${environment[@]}" psql -Xq -v ON_ERROR_STOP=1 -d "$1" -c "$2"; }

# Only this cluster must never crash, because tests crash the others on purpose. A transaction that
# commits must not leave locked buffers, open relations or snapshots behind either.
never_crashed()
{
	if as_server grep -E 'PANIC:|TRAP:|terminated by signal|WARNING: .*(leak|still active)' "$data.log"; then
		broken "a server process crashed, or leaked what it held: see $data.log"
	fi
}
