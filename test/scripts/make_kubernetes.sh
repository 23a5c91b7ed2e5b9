#!/bin/bash
# make_kubernetes.sh [cached]
#
# Build etcd and the API server of Kubernetes for the test of the connector (test/soak/kubernetes_feed.pl). Their Go
# modules in test/kubernetes name the versions. The programs are kept in the user's cache directory, by their versions,
# so that another checkout finds them. They are copied to build/kubernetes, because the server's account cannot read
# that directory. With "cached", the script builds nothing, and fails if a program is not in the cache.

. "$(dirname "$0")/common.sh"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/yquota/kubernetes
directory=$("$top/test/scripts/build_dir.sh")/kubernetes
as_server mkdir -p "$directory"

# version_of PROGRAM: print the required version of the module that has the program.
version_of() { sed -nE 's,.*(etcd/server/v3|k8s\.io/kubernetes) (v[0-9.]+)$,\2,p' "$top/test/kubernetes/$1/go.mod"; }

for program in etcd kube-apiserver; do
	built=$cache/$program-$(version_of "$program")
	if [ ! -x "$built" ]; then
		[ "${1:-}" != cached ] || die "$program $(version_of "$program") is not in the cache; build it with make kubernetes"
		command -v go >/dev/null || die 'go is not installed'
		say "building $program $(version_of "$program"), which takes minutes"
		mkdir -p "$cache"
		(cd "$top/test/kubernetes/$program" && go build -trimpath -ldflags=-s -o "$built.new" .) || die "$program does not build"
		mv "$built.new" "$built"
	fi
	cmp -s "$built" "$directory/$program" || install -m 755 "$built" "$directory/$program"
done
