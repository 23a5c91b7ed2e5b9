#!/bin/bash
# check_shape.sh [LIBRARY]
#
# Check the rules about the sources that neither compiler nor tests enforce, and report them as TAP. LIBRARY is the
# built yquota.so whose exported symbols are checked, by default the library in the checkout.

. "$(dirname "$0")/common.sh"
cd "$top"

library=${1:-yquota.so}
number=0
failures=0

# result NAME OFFENDERS: report ok if there are no offenders.
result()
{
	number=$((number + 1))
	if [ -z "$2" ]; then
		echo "ok $number - $1"
	else
		failures=$((failures + 1))
		echo "not ok $number - $1"
		printf '%s\n' "$2" | sed 's/^/# /' >&2
	fi
}

skip()
{
	number=$((number + 1))
	echo "ok $number # SKIP $1: $2"
}

sources=$(find src -name '*.[ch]' | sort)

# code FILE...: print "file:line:text" without comments and string constants.
code()
{
	awk '
		FNR == 1 { comment = 0 }
		{
			line = $0
			gsub(/\\./, "", line)
			gsub(/\047"\047/, "", line)
			gsub(/"[^"]*"/, "\"\"", line)
			out = ""
			while (line != "")
			{
				if (comment)
				{
					at = index(line, "*/")
					if (!at) break
					comment = 0
					line = substr(line, at + 2)
				}
				else
				{
					at = index(line, "/*")
					if (!at) { out = out line; break }
					out = out substr(line, 1, at - 1)
					comment = 1
					line = substr(line, at + 2)
				}
			}
			if (out ~ /[^ \t]/) print FILENAME ":" FNR ":" out
		}' "$@" </dev/null
}

# A folder may include itself and the folders that follow its name here. The folders admission,
# scheduler and opportunistic have layers of their own. Files outside of these layers may include
# all.
result 'no file includes a header of a higher floor' "$(awk '
	BEGIN {
		below["base"] = "base"
		below["store"] = "base store"
		below["pricing"] = "base store pricing"
		below["charging"] = "base store pricing charging"
		below["queues"] = "base store queues"
		below["admission"] = "base store queues admission"
		below["scheduler"] = "base store queues admission scheduler"
		below["preemption"] = "base store queues admission scheduler preemption"
		below["opportunistic"] = "base store queues admission scheduler opportunistic"
		below["reservation"] = "base store queues admission scheduler reservation"
		below["worker"] = "base store pricing charging queues admission scheduler preemption opportunistic reservation worker"
		below["admission/access"] = "admission/access"
		below["admission/application"] = "admission/access admission/application"
		below["admission/configuration"] = "admission/access admission/application admission/configuration"
		below["admission/placement"] = "admission/access admission/application admission/placement"
		below["admission/submission"] = "admission/access admission/application admission/configuration admission/placement admission/submission"
		below["scheduler/state"] = "scheduler/state"
		below["scheduler/decide"] = "scheduler/state scheduler/decide"
		below["scheduler/load"] = "scheduler/state scheduler/load"
		below["scheduler/record"] = "scheduler/state scheduler/load scheduler/record"
		below["scheduler/request"] = "scheduler/state scheduler/load scheduler/record scheduler/request"
		below["scheduler/cache"] = "scheduler/state scheduler/load scheduler/record scheduler/cache"
		below["opportunistic/node_queue"] = "opportunistic/node_queue"
	}
	function check(from, to)
	{
		if (!(from in below)) print FILENAME ": folder without a floor"
		else if (index(" " below[from] " ", " " to " ") == 0)
			print FILENAME ":" FNR ": includes " to "/"
	}
	/^[ \t]*#[ \t]*include[ \t]*"/ {
		split($0, quoted, "\"")
		depth = split(FILENAME, path, "/")
		parts = split(quoted[2], included, "/")
		if (depth < 3 || parts < 2 || (getline line < ("src/" quoted[2])) < 0) next
		close("src/" quoted[2])
		check(path[2], included[1])
		if (depth > 3 && parts < 3 && path[2] == included[1]) print FILENAME ":" FNR ": includes " quoted[2]
		if (depth > 3 && parts > 2 && path[2] == included[1]) check(path[2] "/" path[3], included[1] "/" included[2])
	}' $sources)"

result 'connectors have no C' "$(find src/connectors -name '*.[ch]')"

# A file and its header count as one. Files that include each other, directly or through others,
# must be understood together, so three are the maximum.
result 'no more than three files include each other' "$(
	for file in $sources; do
		own=${file#src/}
		sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\(.*\)\.h".*/\1/p' "$file" | while read -r header; do
			[ ! -f "src/$header.h" ] || [ "$header" = "${own%.*}" ] || echo "${own%.*} $header"
		done
	done | sort -u | awk '
	{ next_of[$1] = next_of[$1] " " $2; files[$1]; files[$2] }
	function reach(from, file,    list, count, i)
	{
		count = split(next_of[file], list, " ")
		for (i = 1; i <= count; i++)
			if (!((from, list[i]) in reached)) { reached[from, list[i]]; reach(from, list[i]) }
	}
	END {
		for (file in files) reach(file, file)
		for (file in files)
		{
			if (file in seen) continue
			circle = ""
			size = 0
			for (other in files)
				if (((file, other) in reached) && ((other, file) in reached)) { circle = circle " " other; seen[other]; size++ }
			if (size > 3) print "a circle of " size ":" circle
		}
	}')"

result 'own headers are included by folder and name' "$(awk '
	/^[ \t]*#[ \t]*include[ \t]*"[^\/]*"/ {
		split($0, quoted, "\"")
		file = FILENAME
		sub(/[^\/]*$/, quoted[2], file)
		if ((getline line < file) >= 0) { close(file); print FILENAME ":" FNR ": includes " quoted[2] }
	}' $sources)"

result 'only src/base/compat.h looks at the server version' \
	"$(code $sources | grep -E 'PG_VERSION_NUM|PG_MAJORVERSION' | grep -v '^src/base/compat\.h:' || true)"

# A report ends at its semicolon; constants and comments have been removed by then.
result 'every ereport(ERROR) has an SQLSTATE' "$(code $sources | awk -F: '
	{
		text = $0
		sub(/^[^:]*:[^:]*:/, "", text)
		if (!open && match(text, /(ereport|ereturn|errsave)[ \t]*\(/))
		{
			open = 1
			where = $1 ":" $2
			report = ""
			text = substr(text, RSTART)
		}
		if (!open) next
		report = report text
		if (text ~ /;/)
		{
			open = 0
			if (report !~ /errcode/ && report !~ /__VA_ARGS__/ &&
				(report !~ /^ereport/ || report ~ /\([ \t]*(ERROR|FATAL|PANIC)/))
				print where
		}
	}')"

result 'no floating point where prices and charges are computed' \
	"$(code $(find src/pricing src/charging -name '*.[ch]' 2>/dev/null | sort) |
		grep -E '(^|[^A-Za-z0-9_])(float|double|float4|float8|long double|Float[48]GetDatum|DatumGetFloat[48]|PG_(GETARG|RETURN)_FLOAT[48])([^A-Za-z0-9_]|$)' || true)"

result 'a cancel is heard in every loop over rows' "$(perl test/scripts/deaf_loops.pl $sources 2>&1)"

result 'SQL of more than five lines, and joins, are views and functions' "$(perl test/scripts/long_sql.pl $sources 2>&1)"

result 'what comments cite is in docs/' \
	"$(perl test/scripts/citations.pl $(find src sql test expected -type f -name '*.[chdlmqsp]*' ! -name check_shape.sh ! -name citations.pl | sort) 2>&1)"

result 'links lead to pages and headings' \
	"$(perl test/scripts/links.pl README.md Makefile META.json $(find docs src sql test expected -type f ! -name '*.o' ! -name '*.bc' | sort) 2>&1)"

result 'walks lead from file to file' "$(perl test/scripts/walks.pl docs/internals.md 2>&1)"

result 'comments and pages are plain prose' "$(perl test/scripts/prose.pl $sources $(find sql -name '*.sql' | sort) README.md \
	$(find test docs -type f \( -name '*.sql' -o -name '*.spec' -o -name '*.p[lm]' -o -name '*.sh' \) | sort) \
	$(find src docs -name '*.md' | sort) 2>&1)"

result 'no file has marks of a conflict between branches' \
	"$(grep -rnIE '^(<<<<<<<|>>>>>>>)( |$)' README.md Makefile yquota.control docs src sql test expected || true)"

result 'no file of the sources has 900 lines' "$(wc -l $sources </dev/null | awk '$2 != "total" && $1 >= 900 { print $2 ": " $1 }')"

# The install script is read in the encoding of the database. Messages, function bodies and comments
# are sent in the encodings of clients.
result 'the install script and the library are plain ASCII' \
	"$(LC_ALL=C grep -nH '[^[:print:][:space:]]' $sources yquota.control $(find sql -name '*.sql' | sort) || true)"

# The meaning of a backslash in a plain literal depends on standard_conforming_strings. Upper and lower case of a
# keyword depend on the collation.
result 'no literal of the install script depends on settings' "$(perl -0777 -ne '
	while (/\G(?:--[^\n]*|(?<![A-Za-z0-9_])[Ee]\x27(?:[^\x27\\]|\\.|\x27\x27)*\x27|(\x27(?:[^\x27]|\x27\x27)*\x27)|"[^"]*"|.)/gs)
	{
		print "$ARGV:", 1 + (substr($_, 0, pos) =~ tr/\n//), ": $1\n" if defined $1 && index($1, "\\") >= 0;
	}' $(find sql -name '[0-9]*.sql' | sort))"
result 'one statement closes functions to PUBLIC' "$(grep -n 'REVOKE .*FROM PUBLIC' $(find sql -name '[0-9]*.sql' ! -name 690_close_functions.sql) || true)"
result 'upper and lower case depend on no collation' "$(
	grep -nE '\<(upper|lower|initcap) ?\(' $(find sql -name '[0-9]*.sql') | grep -vE 'COLLATE "C"' || true
	grep -nE '\<(str_tolower|str_toupper|str_initcap|tolower|toupper) ?\(' $sources | grep -v '^src/queues/acl.c:' || true)"

# Kinds of files in test/, and the scripts that run them (check.sh).
result 'every test has its expected output and every output its test' "$(
	for file in test/sql/*.sql test/specs/*.spec; do
		[ -e "$file" ] || continue
		name=${file##*/}
		[ -e "expected/${name%.*}.out" ] || echo "$file: no expected/${name%.*}.out"
	done
	for file in expected/*; do
		[ -e "$file" ] || continue
		name=${file##*/}
		name=${name%.out}
		[ -e "test/sql/$name.sql" ] || [ -e "test/specs/$name.spec" ] ||
			[ -e "test/sql/${name%_[0-9]}.sql" ] || [ -e "test/specs/${name%_[0-9]}.spec" ] || echo "$file: no test"
	done
)"
result 'no regression test and isolation spec share a name' "$(
	for file in test/specs/*.spec; do
		name=${file##*/}
		[ ! -e "test/sql/${name%.spec}.sql" ] || echo "$file"
	done
)"
result 'every test file is run by a target' "$(
	find test -mindepth 1 -type f 2>/dev/null | sort | while read -r file; do
		case $file in
			test/sql/*/* | test/specs/*/* | test/t/*/* | test/soak/*/* | test/pgtap/*/*) echo "$file: too deep" ;;
			test/sql/*.sql | test/specs/*.spec | test/t/*.pl | test/soak/*.pl | test/pgtap/*.sql) ;;
			test/property/*.sh | test/property/*.pl) [ -x "$file" ] || echo "$file: not executable" ;;
			test/property/* | test/t/*.pm) ;;
			test/sql/* | test/specs/* | test/t/* | test/soak/* | test/pgtap/*) echo "$file: nothing runs this kind of file" ;;
			test/*/*)
				folder=${file#test/}
				grep -rqF "test/${folder%%/*}" Makefile docs/demo test/*/*.p[lm] test/*/*.sh 2>/dev/null ||
					echo "$file: no target names test/${folder%%/*}" ;;
			*) echo "$file: not in a folder" ;;
		esac
	done
)"

# Every exported symbol can conflict with a symbol of the server or of another extension.
if [ ! -f "$library" ]; then
	skip 'every exported symbol is ours' "no $library, run make first"
elif ! command -v nm >/dev/null; then
	skip 'every exported symbol is ours' 'no nm on this machine'
else
	result 'every exported symbol is ours' "$(nm -D --defined-only "$library" | awk '{ print $NF }' |
		grep -Ev '^(yq_.*|pg_finfo_yq_sql_.*|Pg_magic_func|_PG_init|_init|_fini)$' || true)"
fi

# The build uses gcc. clang, which makes the bitcode, finds other mistakes.
clang=clang headers=''
if command -v "$PG_CONFIG" >/dev/null; then
	server_paths
	headers=$("$PG_CONFIG" --includedir-server)
	clang=$(sed -n 's/^CLANG *= *//p' "$(dirname "$pgxs")/../Makefile.global" 2>/dev/null || true)
fi
if [ ! -f "$headers/postgres.h" ]; then
	skip 'clang has nothing to warn about' "no headers of a server from \"$PG_CONFIG\""
elif command -v "${clang:=clang}" >/dev/null; then
	flags=(-Wall -Wextra -Wno-unused-parameter -isystem "$headers" -D_GNU_SOURCE -Isrc -DYQ_VERSION='""')
	# The server's headers, with which every source begins, are read only once.
	precompiled=$(mktemp)
	result 'clang has nothing to warn about' "$({
		"$clang" "${flags[@]}" -x c-header src/base/compat.h -o "$precompiled"
		"$clang" "${flags[@]}" -fsyntax-only -include-pch "$precompiled" $(find src -name '*.c' | sort)
	} 2>&1 || true)"
	rm "$precompiled"
else
	skip 'clang has nothing to warn about' 'no clang on this machine'
fi

echo "1..$number"
[ "$failures" -eq 0 ]
