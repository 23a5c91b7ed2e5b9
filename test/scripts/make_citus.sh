#!/bin/bash
# make_citus.sh
#
# Build Citus for the tests and the bench that use it, because Debian has no package. The source comes from
# CITUS_SOURCE, which is the repository of Citus or a copy, at the newest release for the server of PG_CONFIG. The
# script builds it into build/citus, where make_private_server.sh finds it. Nothing is installed into the system's
# server. The licence of Citus differs from yquota's: nothing here is linked with it or copied from it.

. "$(dirname "$0")/common.sh"

"$top/test/scripts/install_packages.sh" citus
server_paths
version=$("$PG_CONFIG" --version)
case $version in
	"PostgreSQL 15"* | "PostgreSQL 16"*) release=v12.1.12 ;;
	"PostgreSQL 17"* | "PostgreSQL 18"*) release=v14.0.1 ;;
	*) die "no release of Citus is known for $version" ;;
esac
directory=$("$top/test/scripts/build_dir.sh")/citus
source=$directory/$release
built=$directory/$(tr -c 'A-Za-z0-9.\n' _ <<<"$version")

cd /
if [ -d "$built" ]; then
	say "Citus is there for $version"
	exit
fi
as_server mkdir -p "$directory"
if [ ! -d "$source" ]; then
	say "fetching Citus $release"
	rm -rf "$source.new"
	git -c advice.detachedHead=false clone --quiet --depth 1 --branch "$release" \
		"${CITUS_SOURCE:-https://github.com/citusdata/citus}" "$source.new" || die "could not fetch Citus"
	chown -R "$server_user": "$source.new"
	mv "$source.new" "$source"
fi
say "building Citus $release for $version"
cd "$source"
# The reports of Citus to its makers need libcurl, which the packages do not include. Citus guards them with a macro
# that headers of PostgreSQL 18 may define.
{
	grep -rlZ HAVE_LIBCURL src/backend | as_server xargs -0r sed -i s/HAVE_LIBCURL/CITUS_HAS_LIBCURL/
	# otherwise they would be made again, because all files of a clone have the time of cloning
	as_server touch configure src/include/citus_config.h.in
	as_server ./configure PG_CONFIG="$PG_CONFIG" --without-libcurl
	as_server make -j"$(nproc)" with_llvm=no extension
	as_server make install-extension with_llvm=no DESTDIR="$built.new"
} >/dev/null 2> >(as_server tee "$directory/log" >/dev/null) || { tail -n 20 "$directory/log" >&2; die "Citus does not build"; }
as_server mv "$built.new" "$built"
