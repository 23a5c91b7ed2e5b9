#!/bin/bash
# build_dir.sh
#
# Create the directory that holds private servers and clusters, and print its name. The directory is build/ in the
# checkout and belongs to the server's account. In three cases the directory lies in /var/tmp instead, and build/ is a
# link to it. First, the account cannot enter the checkout, for example below /root. Second, the name is too long for
# the path of a unix socket (107 bytes). Third, the name has characters that makefiles or the server's settings would
# have to quote.

. "$(dirname "$0")/common.sh"

# Number of bytes that the scripts append to the name to form the path of a socket.
socket_room=51

cd /
id "$server_user" >/dev/null 2>&1 || die "there is no account \"$server_user\" to run a server"

suits()
{
	case $1 in
		*[!A-Za-z0-9/._+@=-]*) return 1 ;;
	esac
	[ ${#1} -le $((107 - socket_room)) ] && as_server test -x "$top"
}

# Prepare a directory: it must be a real directory in which the server's account can work.
prepare()
{
	if [ "$(id -u)" -eq 0 ] && [ ! -e "$1" ]; then
		mkdir -m 755 "$1" && chown "$server_user": "$1"
	else
		[ -d "$1" ] || mkdir -m 755 "$1" 2>/dev/null
	fi
	[ ! -L "$1" ] && [ "$(stat -c %U "$1")" = "$server_user" ] && as_server test -w "$1"
}

if suits "$top/build"; then
	[ ! -L "$top/build" ] || rm "$top/build"
	if prepare "$top/build"; then
		echo "$top/build"
		exit 0
	fi
	say "the server's account \"$server_user\" cannot work in $top/build"
fi

fallback=/var/tmp/yquota-$(printf '%s' "$server_user:$top" | sha1sum | cut -c1-12)
prepare "$fallback" || die "\"$fallback\" belongs to somebody else"
if [ -L "$top/build" ] || [ ! -e "$top/build" ]; then
	ln -sfn "$fallback" "$top/build" 2>/dev/null || true
fi
say "working in $fallback (the server cannot work below $top)"
echo "$fallback"
