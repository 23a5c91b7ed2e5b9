/*-------------------------------------------------------------------------
 *
 * plan_lock.c
 *	  The locks of plans.
 *
 * They are object locks of yquota.reservation_definition, as pg_locks shows them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "reservation/plan_lock.h"
#include "storage/lmgr.h"
#include "store/catalog.h"

/* Paths are hashed to so many numbers. */
#define HASHED_PATHS 1024

static int
number_of(const char *path)
{
	return (int) (hash_bytes((const unsigned char *) path, strlen(path)) % HASHED_PATHS);
}

static void
take(int number)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_RESERVATION_DEFINITION), number, 0);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

void
yq_plan_lock(const char *path)
{
	take(number_of(path));
}

void
yq_plans_lock(const List *paths)
{
	List	   *numbers = NIL;
	ListCell   *cell;

	foreach(cell, paths)
		numbers = list_append_unique_int(numbers, number_of(lfirst(cell)));
	list_sort(numbers, list_int_cmp);
	foreach(cell, numbers)
		take(lfirst_int(cell));
	list_free(numbers);
}
