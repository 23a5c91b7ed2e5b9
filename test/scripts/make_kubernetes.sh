#!/bin/bash
# make_kubernetes.sh [cached]
#
# Build a control plane of Kubernetes for the tests of the connector (test/t/KubernetesCluster.pm). It has etcd, the
# API server, the scheduler, the controller manager, and Kueue. Module files in test/kubernetes name the versions.
# etcd.mod has that of etcd, and go.mod that of the newest Kubernetes. 1.35.mod has that of Kueue, and of the oldest
# Kubernetes that the connector supports. The programs are kept in the user's cache directory, by their versions, so
# that another checkout finds them. They are linked below build/kubernetes, because the server's account cannot read
# that directory.
#
# With "cached", the script builds nothing. It names each program that is not in the cache, and fails if there is one.
# Tests that need such a program count as skipped.

. "$(dirname "$0")/common.sh"

# name below build/kubernetes, module file, package
programs=(
	'etcd etcd.mod go.etcd.io/etcd/server/v3'
	'kube-apiserver go.mod k8s.io/kubernetes/cmd/kube-apiserver'
	'kube-scheduler go.mod k8s.io/kubernetes/cmd/kube-scheduler'
	'kube-controller-manager go.mod k8s.io/kubernetes/cmd/kube-controller-manager'
	'kueue 1.35.mod sigs.k8s.io/kueue/cmd/kueue'
	'kube-apiserver-1.35 1.35.mod k8s.io/kubernetes/cmd/kube-apiserver'
	'kube-scheduler-1.35 1.35.mod k8s.io/kubernetes/cmd/kube-scheduler'
	'kube-controller-manager-1.35 1.35.mod k8s.io/kubernetes/cmd/kube-controller-manager'
)

cache=${XDG_CACHE_HOME:-$HOME/.cache}/yquota/kubernetes
directory=$("$top/test/scripts/build_dir.sh")/kubernetes
modules=$top/test/kubernetes
as_server mkdir -p "$directory"

# version_of PACKAGE FILE: print the version that the module file requires of the package's module.
version_of() { sed -nE "s,.*\b${1%/cmd/*} (v[0-9.]+)( // indirect)?\$,\1,p" "$modules/$2" | head -n 1; }

# build FILE PACKAGE VERSION TARGET: build a package. Programs of Kubernetes answer and compare this version. Another
# checkout may build the same program meanwhile.
build()
{
	local minor=${3#v1.} version=k8s.io/component-base/version

	command -v go >/dev/null || { say 'go is not installed'; return 1; }
	mkdir -p "$cache"
	(cd "$modules" && go build -modfile="$1" -trimpath -o "$4.$$" \
		-ldflags="-s -X $version.gitVersion=$3 -X $version.gitMajor=1 -X $version.gitMinor=${minor%.*}" "$2") || return
	mv "$4.$$" "$4"
}

# kueue_manifests VERSION: put Kueue's manifests below build/kubernetes.
kueue_manifests()
{
	local built=$cache/kueue-config-$1

	if [ ! -e "$built" ]; then
		cp -r --no-preserve=mode "$(cd "$modules" && go list -modfile=1.35.mod -m -f '{{.Dir}}' sigs.k8s.io/kueue)/config" "$built.$$"
		mv "$built.$$" "$built"
	fi
	rm -rf "$directory/kueue-config"
	cp -r "$built" "$directory/kueue-config"
}

status=0
for line in "${programs[@]}"; do
	read -r name file package <<<"$line"
	version=$(version_of "$package" "$file")
	built=$cache/${name%-1.35}-$version
	if [ ! -x "$built" ] && [ "${1:-}" = cached ]; then
		say "$name $version is not in the cache; build it with make kubernetes"
		rm -f "$directory/$name"
		status=1
		continue
	fi
	if [ ! -x "$built" ]; then
		say "building $name $version, which takes minutes"
		build "$file" "$package" "$version" "$built" || { say "$name does not build"; status=1; continue; }
	fi
	[ "$directory/$name" -ef "$built" ] || ln -f "$built" "$directory/$name" 2>/dev/null || install -m 755 "$built" "$directory/$name"
	[ "$name" != kueue ] || kueue_manifests "$version"
done
exit $status
