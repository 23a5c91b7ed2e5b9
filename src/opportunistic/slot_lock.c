/*-------------------------------------------------------------------------
 *
 * slot_lock.c
 *	  Locks for slots of nodes.
 *
 * They are object locks of yquota_internal.opportunistic_slot, as pg_locks shows them: the
 * object is 0 for the turn, and from 1 on the hashed name of a node.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "opportunistic/slot_lock.h"
#include "storage/lmgr.h"
#include "store/catalog.h"

static int
number_of(const char *node)
{
	return hash_bytes((const unsigned char *) node, strlen(node)) % YQ_SLOT_LOCKS;
}

static bool
acquire(int object, bool waits)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_OPPORTUNISTIC_SLOT), object, 0);
	return LockAcquire(&tag, ExclusiveLock, false, !waits) != LOCKACQUIRE_NOT_AVAIL;
}

static void
release(int object)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_OPPORTUNISTIC_SLOT), object, 0);
	LockRelease(&tag, ExclusiveLock, false);
}

static bool
take(YqSlotLocks *locks, int number, bool waits)
{
	if (!acquire(number + 1, waits))
		return false;
	locks->taken[number]++;
	return true;
}

static void
give_back(YqSlotLocks *locks, int number)
{
	release(number + 1);
	locks->taken[number]--;
}

void
yq_slot_lock_turn(void)
{
	(void) acquire(0, true);
}

bool
yq_slot_locks_try(YqSlotLocks *locks, const char *node)
{
	return take(locks, number_of(node), false);
}

bool
yq_slot_locks_wait(YqSlotLocks *locks, const char *node)
{
	int			number = number_of(node);

	for (int i = number + 1; i < YQ_SLOT_LOCKS && !locks->has_missed; i++)
		locks->has_missed = locks->taken[i] > 0;
	locks->missed = number;
	return !locks->has_missed && take(locks, number, true);
}

void
yq_slot_locks_give_back(YqSlotLocks *locks, const char *node)
{
	give_back(locks, number_of(node));
}

void
yq_slot_locks_take_missed(YqSlotLocks *locks)
{
	bool		is_wanted[YQ_SLOT_LOCKS];

	for (int i = 0; i < YQ_SLOT_LOCKS; i++)
	{
		is_wanted[i] = locks->taken[i] > 0 || i == locks->missed;
		while (locks->taken[i] > 0)
			give_back(locks, i);
	}
	for (int i = 0; i < YQ_SLOT_LOCKS; i++)
	{
		if (is_wanted[i])
			(void) take(locks, i, true);
	}
	locks->has_missed = false;
}
