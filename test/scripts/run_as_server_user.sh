#!/bin/bash
# run_as_server_user.sh COMMAND [ARGUMENT...]
#
# Run a command under the account of the private servers: postgres if root calls, otherwise the
# caller's own.

. "$(dirname "$0")/common.sh"

[ $# -gt 0 ] || die "usage: run_as_server_user.sh COMMAND [ARGUMENT...]"
as_server "$@"
