/*-------------------------------------------------------------------------
 *
 * pass_lock.c
 *	  One allocation pass at a time.
 *
 * It is an object lock of yquota.application, as pg_locks shows it: a lock of
 * the table itself would keep autovacuum away.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/catalog.h"
#include "miscadmin.h"
#include "scheduler/pass_lock.h"
#include "storage/lmgr.h"

void
yq_pass_lock(LOCKMODE mode)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_APPLICATION), 0, 0);
	(void) LockAcquire(&tag, mode, false, false);
}
