#!/bin/bash
# fuzz.sh DIRECTORY RUNS [TARGET...]
#
# Build yquota and the fuzz targets of test/fuzz with clang's coverage, address and undefined behaviour
# instrumentation into DIRECTORY. Run each target RUNS times in a server in single-user mode, beginning with
# test/fuzz/corpus/TARGET. The script prints a line for each target:
#   TARGET ok|FAILED, RUNS runs, N inputs that cover something, seed S
# The seed is FUZZ_SEED or random. DIRECTORY/corpus holds the inputs that the fuzzer kept, and the next run uses them
# again. DIRECTORY/found holds the inputs that made a target fail. Status 77 means that clang's fuzzer is not
# installed. In a soak (SOAK_SECONDS) the build is optimized for quick runs. Otherwise the build itself is quick.

. "$(dirname "$0")/common.sh"

[ $# -ge 2 ] || die "usage: fuzz.sh DIRECTORY RUNS [TARGET...]"
directory=$1
runs=$2
shift 2
server_paths
mkdir -p "$directory/objects" "$directory/found"
directory=$(cd "$directory" && pwd -P)
cd "$top/test/fuzz"

preload=$("$top/test/scripts/sanitizer_preload.sh" "$directory") || exit
clang=$(sed -n 's/^CLANG *= *//p' "$(dirname "$pgxs")/../Makefile.global")
clang=${clang:-clang}
fuzzer=$("$clang" --print-resource-dir)/lib/linux/libclang_rt.fuzzer_no_main-$(uname -m).a
[ -f "$fuzzer" ] || exit 77

# Report signed overflow although the server's flags define it, because no code here overflows on
# purpose.
flags=(-g ${SOAK_SECONDS:+-O1} -fPIC -fno-omit-frame-pointer -fno-strict-aliasing
	-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
	-Wall -Wextra -Wno-unused-parameter -Werror -D_GNU_SOURCE
	-isystem "$("$PG_CONFIG" --includedir-server)" -I. -I"$top/src" -DYQ_VERSION='"fuzz"')

# Compile the sources that are newer than their objects, or all sources if a header has changed.
compile()
{
	local source object changed objects=()

	changed=$(find "$top/src" . "$top/test/scripts/fuzz.sh" \( -name '*.h' -o -name fuzz.sh \) \
		-newer "$directory/yquota_fuzz.so" 2>/dev/null || echo all)
	for source in $(cd "$top" && find src test/fuzz -name '*.c' | sort); do
		object=$directory/objects/$(tr / . <<<"${source%.c}").o
		objects+=("$object")
		if [ -n "$changed" ] || [ "$top/$source" -nt "$object" ]; then
			printf '%s\0%s\0' "$object" "$top/$source"
		fi
	done > >(xargs -0 -r -n 2 -P "$(nproc)" "$clang" "${flags[@]}" -include allocation.h -c -o)
	wait $! || return
	"$clang" -shared -shared-libasan -fsanitize=address,undefined -Wl,-Bsymbolic \
		-o "$directory/yquota_fuzz.so" "${objects[@]}" "$fuzzer" -lstdc++ -lm
}

compile || die 'the fuzz targets do not build'

export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=0:verify_asan_link_order=0
export UBSAN_OPTIONS=print_stacktrace=1
data=$directory/data

# single COMMAND: run the command in a new single-user server, whose messages go to standard error.
single()
{
	tr '\n\t' '  ' <<<"$1" |
		LD_PRELOAD=$preload timeout 3600 "$bindir/postgres" --single -F -D "$data" postgres >/dev/null
}

rm -rf "$data"
"$bindir/initdb" -D "$data" -U postgres -A trust -E UTF8 --no-locale --no-sync >/dev/null
single "CREATE FUNCTION fuzz(text, text[]) RETURNS integer LANGUAGE c
	AS '$directory/yquota_fuzz', 'yq_sql_fuzz'" 2>"$directory/create.log"
! grep -E 'ERROR|FATAL' "$directory/create.log" >&2 || die 'the fuzz function cannot be created'

[ $# -gt 0 ] || set -- $(sed -n 's/^\t{"\([a-z_]*\)", yq_fuzz.*/\1/p' driver.c)

failures=0
for target in "$@"; do
	seed=${FUZZ_SEED:-$((RANDOM * 32768 + RANDOM + 1))}
	log=$directory/$target.log
	corpus=$directory/corpus/$target
	mkdir -p "$corpus"
	arguments="'-runs=$runs', '-seed=$seed', '-max_len=${FUZZ_LENGTH:-512}', '-rss_limit_mb=0', '-timeout=20',
		'-print_final_stats=1', '-artifact_prefix=$directory/found/$target-', '$corpus'"
	[ ! -d "corpus/$target" ] || arguments+=", '$top/test/fuzz/corpus/$target'"
	[ ! -f "$target.dict" ] || arguments+=", '-dict=$top/test/fuzz/$target.dict'"
	status=0
	single "SELECT fuzz('$target', ARRAY[$arguments])" 2>"$log" || status=$?
	done_runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	result=ok
	if [ "$status" -ne 0 ] || [ -z "$done_runs" ]; then
		result=FAILED
		failures=$((failures + 1))
		grep -vE '^#[0-9]+\s+(NEW|REDUCE|pulse|RELOAD|INITED|READ)' "$log" | tail -n 40 >&2
	fi
	echo "$target $result, ${done_runs:-0} runs, $(sed -n 's/.* corp: \([0-9]*\).*/\1/p' "$log" | tail -n 1) inputs that cover something, seed $seed"
done
[ "$failures" -eq 0 ]
