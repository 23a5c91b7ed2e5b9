#!/bin/bash
# analyze.sh [deep]
#
# Check the sources with clang's static analyser, and print each finding with the path that leads to it. Status 1
# means that it found something, and 77 that clang is not installed. "deep" follows more paths and takes minutes.
#
# A false finding is removed by rewriting the code so that the analyser understands it.

. "$(dirname "$0")/common.sh"
server_paths
cd "$top"

clang=$(sed -n 's/^CLANG *= *//p' "$(dirname "$pgxs")/../Makefile.global")
command -v "${clang:=clang}" >/dev/null || exit 77
depth=shallow
[ "${1:-}" != deep ] || depth=deep

found=$(find src -name '*.c' -print0 | sort -z |
	xargs -0 -n 4 -P "$(nproc)" "$clang" --analyze -Xclang -analyzer-config -Xclang "mode=$depth" \
		-Xclang -analyzer-output=text -isystem "$("$PG_CONFIG" --includedir-server)" \
		-D_GNU_SOURCE -Isrc -DYQ_VERSION='""' 2>&1)
[ -z "$found" ] || {
	printf '%s\n' "$found"
	exit 1
}
