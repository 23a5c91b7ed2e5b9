#!/bin/bash
# install_packages.sh build|citus|check|short_soak|soak|list
#
# Print the needed packages that are missing, and install them with apt:
#   build  to build yquota and to run it in a private server ("make demo", "make
#          bench"): the server without its automatic main cluster, its headers, a
#          compiler
#   citus  besides "build": git and the packages that the build of Citus needs
#   check  besides: pgTAP, pg_cron and the Perl modules of the tests
#   short_soak  besides: the compiler's sanitizers and fuzzer, sqlsmith, Prometheus' rule
#          checker and exporter, PgBouncer, and drivers for Java and Python
#   soak   besides: valgrind, a browser and Go
#   list   nothing: print the packages that the others would install
# No service is started. The script looks for the files themselves, not in the package database, so a server built by
# hand is fine. When nothing is missing, apt is not called at all.

. "$(dirname "$0")/common.sh"

purpose=${1:-}
case $purpose in
	build | citus | check | short_soak | soak | list) ;;
	*) die "usage: install_packages.sh build|citus|check|short_soak|soak|list" ;;
esac
cd /

cluster_dropin=/etc/postgresql-common/createcluster.d/yquota-no-main-cluster.conf
service_policy=/usr/sbin/policy-rc.d

# Temporary files exist only while this script runs.
temporary=()
trap '[ ${#temporary[@]} -eq 0 ] || as_root rm -f "${temporary[@]}"' EXIT

# as_root COMMAND...: run the command as root, without a question when no terminal can answer it.
as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif ! command -v sudo >/dev/null; then
		die "neither root nor sudo; as root: apt-get install ${missing[*]}"
	elif [ -n "${CI:-}" ] || [ ! -t 0 ]; then
		sudo -n "$@"
	else
		sudo "$@"
	fi
}

apt()
{
	as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
		apt-get -qy -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" >&2
}

# install PACKAGE...: if it fails, update the package lists and try again, because the mirror may no
# longer have the listed versions. Installed packages keep their version, so that no running server
# is restarted by an upgrade.
install()
{
	apt install --no-upgrade --no-install-recommends "$@" || {
		say "trying again with new package lists"
		apt update && apt install --no-upgrade --no-install-recommends "$@"
	} || die "could not install the packages; as root: apt-get install $*"
}

# major_version: print the version of the server of PG_CONFIG, or else that of the distribution.
major_version()
{
	if command -v "$PG_CONFIG" >/dev/null; then
		"$PG_CONFIG" --version | sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p'
	elif [ "$PG_CONFIG" != pg_config ]; then
		die "PG_CONFIG is \"$PG_CONFIG\", which does not exist"
	else
		{ apt-cache show --no-all-versions postgresql 2>/dev/null || true; } |
			sed -n 's/^Depends:.*postgresql-\([0-9]*\).*/\1/p'
	fi
}

# need PACKAGE COMMAND...: if the command fails, the package is missing.
missing=()
need()
{
	"${@:2}" >/dev/null 2>&1 || missing+=("$1")
}

perl_has() { perl -e 'eval "require $_; 1" or exit 1 for @ARGV' "$@"; }

# Succeed if the clang with which the server was built has its sanitizers and its fuzzer.
clang_runtime_found()
{
	[ -z "$clang" ] || [ -n "$(find "$("$clang" --print-resource-dir)/lib" -name 'libclang_rt.fuzzer_no_main*' -print -quit)" ]
}

header_found() { echo "#include <$1>" | gcc -E - ; }

look()
{
	local bindir='' sharedir='' pkglibdir='' pgxs='' headers='' clang='' clang_version=''

	missing=()
	if command -v "$PG_CONFIG" >/dev/null; then
		server_paths
		headers=$("$PG_CONFIG" --includedir-server)
		clang=$(sed -n 's/^CLANG *= *//p' "$(dirname "$pgxs")/../Makefile.global" 2>/dev/null || true)
		clang=$(command -v "${clang:-clang}" || true)
		[ -z "$clang" ] || clang_version=$("$clang" -dumpversion | cut -d. -f1)
	fi
	need gcc command -v gcc
	need libc6-dev header_found stdio.h
	need make command -v make
	need perl perl_has Test::More TAP::Harness Time::HiRes File::Temp
	need "postgresql-$major" test -x "$bindir/initdb" -a -x "$bindir/postgres" -a -x "$bindir/psql"
	need "postgresql-server-dev-$major" test -f "$pgxs" -a -f "$headers/postgres.h"
	[ "$purpose" != build ] || return 0
	if [ "$purpose" = citus ]; then
		need git command -v git
		need liblz4-dev header_found lz4.h
		need libzstd-dev header_found zstd.h
		need libssl-dev header_found openssl/ssl.h
		need libkrb5-dev header_found gssapi/gssapi.h
		need libicu-dev header_found unicode/ucol.h
		return 0
	fi

	need libipc-run-perl perl_has IPC::Run
	need libtap-parser-sourcehandler-pgtap-perl perl_has TAP::Parser::SourceHandler::pgTAP
	need "postgresql-$major-pgtap" test -f "$sharedir/extension/pgtap.control"
	need "postgresql-$major-cron" test -f "$sharedir/extension/pg_cron.control"
	[ "$purpose" != check ] || return 0

	need sqlsmith command -v sqlsmith
	need "libclang-rt-$clang_version-dev" clang_runtime_found
	need prometheus command -v promtool
	need prometheus-postgres-exporter command -v prometheus-postgres-exporter
	need pgbouncer test -x /usr/sbin/pgbouncer
	need libpostgresql-jdbc-java test -f /usr/share/java/postgresql.jar
	need python3-psycopg /usr/bin/python3 -c 'import psycopg'
	[ "$purpose" != short_soak ] || return 0

	need valgrind command -v valgrind
	need chromium command -v chromium
	need poppler-utils command -v pdftotext
	need golang-go command -v go
}

# starts_service PACKAGE: succeed if the package would start a service.
starts_service() { [[ $1 == prometheus* || $1 == pgbouncer ]]; }

# without_main_cluster: from here to the end of this script, a new server package creates no
# cluster, unless the operator has configured that.
without_main_cluster()
{
	local setting

	command -v pg_conftool >/dev/null || install postgresql-common
	setting=$(pg_conftool /etc/postgresql-common/createcluster.conf show -bs create_main_cluster 2>/dev/null || true)
	[ -z "$setting" ] || return 0
	temporary+=("$cluster_dropin")
	as_root mkdir -p "${cluster_dropin%/*}"
	echo 'create_main_cluster = false' | as_root tee "$cluster_dropin" >/dev/null
	setting=$(pg_conftool /etc/postgresql-common/createcluster.conf show -bs create_main_cluster 2>/dev/null || true)
	[ "$setting" = off ] ||
		die "cannot install the server without its main cluster: set create_main_cluster = false in /etc/postgresql-common/createcluster.conf"
}

# without_services: likewise, Prometheus and PgBouncer do not start their services, now or when the
# machine starts, unless the operator has a policy for services.
without_services()
{
	[ ! -e "$service_policy" ] || return 0
	temporary+=("$service_policy")
	printf '#!/bin/sh\nexit 101\n' | as_root tee "$service_policy" >/dev/null
	as_root chmod 755 "$service_policy"
}

disable_services()
{
	local package

	command -v systemctl >/dev/null || return 0
	for package in "${missing[@]}"; do
		! starts_service "$package" || as_root systemctl disable "$package" >&2 || true
	done
}

major=$(major_version)
if [ "$purpose" = list ]; then
	# apt knows the server's version once it has its package lists
	: "${major:=VERSION}"
	for purpose in build check soak; do
		look
		case $purpose in
			build) goals='make demo, make bench' ;;
			*) goals="make $purpose" ;;
		esac
		echo "$goals: ${missing[*]:-nothing}"
	done
	exit 0
fi
if [ -z "$major" ] && command -v apt-get >/dev/null; then
	say "fetching the package lists"
	missing=(postgresql)
	apt update || die "could not fetch the package lists"
	major=$(major_version)
fi
[ -n "$major" ] || die "no PostgreSQL server found and no apt-get to install one; set PG_CONFIG"
[ "$major" -ge 15 ] || die "yquota needs PostgreSQL 15 or later, \"$PG_CONFIG\" belongs to $major"

# install_missing: install the packages that look() found missing.
install_missing()
{
	local package

	command -v apt-get >/dev/null || die "no apt-get on this machine: install by hand ${missing[*]}"
	say "installing into this system with apt-get, with what they depend on: ${missing[*]}"
	say "no service is started, and yquota itself goes nowhere but below build/"

	apt-cache show "${missing[@]}" >/dev/null 2>&1 || {
		say "fetching the package lists"
		apt update || die "could not fetch the package lists"
	}
	for package in "${missing[@]}"; do
		if [ "$package" = "postgresql-$major" ]; then
			without_main_cluster
		elif starts_service "$package"; then
			without_services
		fi
	done
	install "${missing[@]}"
	disable_services
}

# Look twice, because only the server's headers show which clang is needed.
for round in 1 2; do
	look
	[ ${#missing[@]} -gt 0 ] || exit 0
	install_missing
done
look
[ ${#missing[@]} -eq 0 ] || die "still missing after the installation: ${missing[*]}"
