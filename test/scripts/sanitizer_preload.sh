#!/bin/bash
# sanitizer_preload.sh DIRECTORY
#
# Print the value of LD_PRELOAD for a server whose extension is built by clang with the address sanitizer. A helper
# library is built in DIRECTORY. Status 77 means that clang or its sanitizers are not installed or do not work with
# the kernel. Sanitizers of older releases often find their addresses in use where the kernel spreads mappings widely
# (vm.mmap_rnd_bits over 28).
#
# The sanitizer initializes itself at the first allocation of memory, and then asks the dynamic linker for symbols.
# One of the server's libraries allocates in its constructor while it holds the lock of message translation. The
# linker's errors take this lock as well, so the server would never start. Therefore the helper library comes before
# all constructors and allocates some memory.

. "$(dirname "$0")/common.sh"

[ $# -eq 1 ] || die "usage: sanitizer_preload.sh DIRECTORY"
server_paths
clang=$(sed -n 's/^CLANG *= *//p' "$(dirname "$pgxs")/../Makefile.global")
command -v "${clang:=clang}" >/dev/null || exit 77
sanitizer=$("$clang" --print-resource-dir)/lib/linux/libclang_rt.asan-$(uname -m).so
[ -f "$sanitizer" ] || exit 77

"$clang" -shared -fPIC -O1 -Wl,-z,initfirst -x c -o "$1/allocate_first.so" - <<'SOURCE'
#include <stdlib.h>

static void __attribute__((constructor))
allocate(void)
{
	char	   *volatile memory = malloc(1);

	free(memory);
}
SOURCE
preload="$1/allocate_first.so $sanitizer"
for attempt in {1..20}; do
	LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 /bin/true 2>/dev/null || exit 77
done
echo "$preload"
