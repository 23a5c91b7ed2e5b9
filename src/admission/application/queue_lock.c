/*-------------------------------------------------------------------------
 *
 * queue_lock.c
 *	  Locks for decisions about applications.
 *
 * The locks are object locks on yquota_internal.application_counter.  In pg_locks,
 * objsubid is the kind and objid the hashed name.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/queue_lock.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "store/catalog.h"
#include "utils/inval.h"

/* Number of hash values for each kind of lock. */
#define HASHED_NAMES 1024

static int
key_of(YqQueueLockKind kind, uint32 number)
{
	return kind * HASHED_NAMES + number;
}

static int
key_of_name(YqQueueLockKind kind, const char *name)
{
	return key_of(kind, hash_bytes((const unsigned char *) name, strlen(name)) % HASHED_NAMES);
}

static void
set_tag(LOCKTAG *tag, int key)
{
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, yq_table_oid(YQ_APPLICATION_COUNTER),
					   key % HASHED_NAMES, key / HASHED_NAMES);
}

static void
take(int key, LOCKMODE mode)
{
	LOCKTAG		tag;

	set_tag(&tag, key);
	(void) LockAcquire(&tag, mode, false, false);
}

static void
add_key(YqQueueLocks *locks, int key)
{
	int			at = list_length(locks->keys);

	while (at > 0 && list_nth_int(locks->keys, at - 1) > key)
		at--;
	if (at == 0 || list_nth_int(locks->keys, at - 1) < key)
		locks->keys = list_insert_nth_int(locks->keys, at, key);
}

void
yq_queue_locks_add(YqQueueLocks *locks, YqQueueLockKind kind, const char *name)
{
	add_key(locks, key_of_name(kind, name));
}

void
yq_queue_locks_merge(YqQueueLocks *to, const YqQueueLocks *from)
{
	ListCell   *cell;

	foreach(cell, from->keys)
		add_key(to, lfirst_int(cell));
}

bool
yq_queue_locks_cover(const YqQueueLocks *whole, const YqQueueLocks *part)
{
	return list_difference_int(part->keys, whole->keys) == NIL;
}

void
yq_queue_locks_take(const YqQueueLocks *locks)
{
	ListCell   *cell;

	foreach(cell, locks->keys)
		take(lfirst_int(cell), ExclusiveLock);
}

void
yq_queue_locks_release(const YqQueueLocks *locks)
{
	ListCell   *cell;

	foreach(cell, locks->keys)
	{
		LOCKTAG		tag;

		set_tag(&tag, lfirst_int(cell));
		LockRelease(&tag, ExclusiveLock, false);
	}
}

void
yq_queue_lock_configuration(LOCKMODE mode)
{
	PreventCommandIfReadOnly("changes of applications");
	LockRelationOid(yq_table_oid(YQ_QUEUE_STATUS), mode);
	/* process invalidations here, because LockRelationOid() does not if the transaction already held the lock */
	AcceptInvalidationMessages();
}

void
yq_queue_lock_rows(void)
{
	LockRelationOid(yq_table_oid(YQ_QUEUE), ExclusiveLock);
}

void
yq_queue_lock_leaf(const char *path)
{
	take(key_of_name(YQ_LOCK_LEAF, path), ExclusiveLock);
}

void
yq_queue_lock_system(LOCKMODE mode)
{
	take(key_of(YQ_LOCK_SYSTEM, 0), mode);
}

void
yq_queue_unlock_system(LOCKMODE mode)
{
	LOCKTAG		tag;

	set_tag(&tag, key_of(YQ_LOCK_SYSTEM, 0));
	LockRelease(&tag, mode, false);
}

int
yq_queue_lock_total(void)
{
	static int	row = 0;

	/*
	 * try the row of the session's previous transaction first; otherwise the table would
	 * get more rows than there are concurrent transactions
	 */
	for (int i = 0; i < HASHED_NAMES; i++)
	{
		LOCKTAG		tag;

		set_tag(&tag, key_of(YQ_LOCK_TOTAL, row));
		if (LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL)
			return row;
		row = (row + 1) % HASHED_NAMES;
	}
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("too many transactions change applications at once")));
}
