/*-------------------------------------------------------------------------
 *
 * yquota.c
 *	  Loading of the library.
 *
 * The library also works if it is not preloaded.  Then there is no launcher, and
 * commands that need a database for themselves do not end its worker.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/settings.h"
#include "base/wide.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "worker/worker.h"

PG_MODULE_MAGIC_EXT(.name = "yquota", .version = YQ_VERSION);

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	yq_wide_numeric_check();
	yq_settings_define();

	if (process_shared_preload_libraries_in_progress && !IsBinaryUpgrade)
	{
		yq_worker_init();
		yq_give_way_init();
	}
}
