/*-------------------------------------------------------------------------
 *
 * running_class.c
 *	  Numbers of rate classes in running totals.
 *
 * A number means the same for ever once it is committed, so cached numbers are
 * never checked again.  A transaction's own numbers may be given to other classes
 * after it is rolled back: the next refresh forgets them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/stratnum.h"
#include "access/xact.h"
#include "base/resource.h"
#include "charging/running_class.h"
#include "store/table_scan.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* Numbers come one after the other, so they are places in an array. */
static YqRateClass **known = NULL;
static uint32 known_room = 0;
static uint64 known_generation = 0; /* of rate classes */
static Oid	known_from = InvalidOid;	/* the table they were read from */
static bool has_own_numbers = false;

static void
forget_all(void)
{
	if (known != NULL)
		memset(known, 0, sizeof(YqRateClass *) * known_room);
	has_own_numbers = false;
}

void
yq_running_class_refresh(void)
{
	if (has_own_numbers || known_from != yq_table_oid(YQ_RUNNING_CLASS))
		forget_all();
	known_from = yq_table_oid(YQ_RUNNING_CLASS);
}

static void
remember(uint32 class_id, YqRateClass *rate_class)
{
	if (class_id >= known_room)
	{
		uint32		room = Max(class_id + 1, known_room * 2 + 1024);

		known = known == NULL ? MemoryContextAllocHuge(TopMemoryContext, sizeof(YqRateClass *) * room) :
			repalloc_huge(known, sizeof(YqRateClass *) * (Size) room);
		memset(known + known_room, 0, sizeof(YqRateClass *) * (room - known_room));
		known_room = room;
	}
	known[class_id] = rate_class;
}

static void
remember_row(const YqRow *row)
{
	bool		isnull;
	uint32		class_id = DatumGetUInt32(yq_row_value(row, 0, &isnull));
	YqResource *shape = DatumGetYqResourceP(yq_row_value(row, 1, &isnull));
	Datum		factors = yq_row_value(row, 2, &isnull);
	ArrayType  *factor_names = isnull ? NULL : DatumGetArrayTypeP(factors);
	TransactionId xmin = DatumGetTransactionId(slot_getsysattr(row->slot, MinTransactionIdAttributeNumber, &isnull));
	uint64		weight;

	has_own_numbers |= TransactionIdIsCurrentTransactionId(xmin);
	remember(class_id, yq_rate_class_require(shape, factor_names, &weight));
}

/* Read the class of a number and all that came later. */
static void
load_from(uint32 class_id)
{
	static const char *const columns[] = {"class_id", "shape", "factors"};
	ScanKeyData key;

	ScanKeyInit(&key, 1, BTGreaterEqualStrategyNumber, F_INT4GE, UInt32GetDatum(class_id));
	yq_table_scan_keys(YQ_RUNNING_CLASS, "running_class_pkey", GetActiveSnapshot(), &key, 1,
					   columns, lengthof(columns), remember_row, NULL);
}

YqRateClass *
yq_running_class(uint32 class_id)
{
	if (known_generation != yq_rate_class_generation())
	{
		forget_all();
		known_generation = yq_rate_class_generation();
	}
	if (class_id < known_room && known[class_id] != NULL)
		return known[class_id];
	load_from(class_id);
	if (class_id >= known_room || known[class_id] == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("rate class %u of the running totals does not exist", class_id)));
	return known[class_id];
}
