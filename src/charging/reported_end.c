/*-------------------------------------------------------------------------
 *
 * reported_end.c
 *	  Ends that were reported of a container, where there is more to tell than
 *	  the ledger does.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "charging/reported_end.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

/* Columns of reported_end, in table order. */
enum
{
	END_CONTAINER_ID,
	END_OCCURRED_AT,
	END_EXIT_STATUS,
	END_IS_OWN,
	END_IS_ASSUMED,
	END_RECORDED_AT,
	END_SOURCE,
	END_IS_BOOKED,
	END_COLUMNS
};

/* Later ends than the first so many tell nothing new, but for a preemption. */
#define MAX_ENDS 16

typedef struct End
{
	TimestampTz at;
	bool		has_exit_status;
	int32		exit_status;
	bool		is_own;
	const text *source;
	bool		is_booked;		/* the ledger has it, and not its source */
	bool		is_noted;		/* there is a row of it */
} End;

static bool
is_same_end(const End *a, const End *b)
{
	return a->at == b->at && a->has_exit_status == b->has_exit_status &&
		a->exit_status == b->exit_status;
}

static End
end_of_event(const YqEvent *finish)
{
	End			end = {finish->occurred_at, finish->has_exit_status, finish->exit_status,
	yq_event_is_own(finish), finish->source, false, false};

	return end;
}

static void
put_end(YqLedger *ledger, const text *container_id, const End *end)
{
	Datum		values[END_COLUMNS];
	bool		nulls[END_COLUMNS] = {false};

	values[END_CONTAINER_ID] = PointerGetDatum(container_id);
	values[END_OCCURRED_AT] = TimestampTzGetDatum(end->at);
	values[END_EXIT_STATUS] = Int32GetDatum(end->exit_status);
	nulls[END_EXIT_STATUS] = !end->has_exit_status;
	values[END_IS_OWN] = BoolGetDatum(end->is_own);
	values[END_IS_ASSUMED] = BoolGetDatum(false);
	values[END_RECORDED_AT] = TimestampTzGetDatum(ledger->now);
	yq_varlena_put(values, nulls, END_SOURCE, end->source);
	values[END_IS_BOOKED] = BoolGetDatum(end->is_booked);
	yq_bulk_insert_put(yq_ledger_end_writer(ledger, END_COLUMNS), values, nulls);
}

void
yq_reported_end_note_own(YqLedger *ledger, const YqEvent *finish)
{
	End			end = end_of_event(finish);

	if (end.is_own)
		put_end(ledger, finish->container_id, &end);
}

static bool
is_own_preemption(const End *end)
{
	return end->is_own && end->has_exit_status && end->exit_status == YQ_EXIT_PREEMPTED;
}

/*
 * Add an end that is not among them yet, as long as there is room.  The first that
 * tells of a preemption by yquota takes the last place if need be.
 */
static void
add_end(End *ends, int *count, const End *end)
{
	bool		tells_preemption = false;

	for (int i = 0; i < *count; i++)
	{
		if (is_same_end(&ends[i], end) && ends[i].is_own == end->is_own)
			return;
		tells_preemption |= is_own_preemption(&ends[i]);
	}
	if (*count < MAX_ENDS)
		ends[(*count)++] = *end;
	else if (is_own_preemption(end) && !tells_preemption)
		ends[MAX_ENDS - 1] = *end;
}

static End
read_end(TupleTableSlot *slot)
{
	End			end = {0};

	slot_getallattrs(slot);
	end.at = DatumGetTimestampTz(slot->tts_values[END_OCCURRED_AT]);
	end.has_exit_status = !slot->tts_isnull[END_EXIT_STATUS];
	end.exit_status = end.has_exit_status ? DatumGetInt32(slot->tts_values[END_EXIT_STATUS]) : 0;
	end.is_own = DatumGetBool(slot->tts_values[END_IS_OWN]);
	return end;
}

bool
yq_reported_end_has_own_preemption(YqLedger *ledger, const text *container_id)
{
	YqIndexScan *scan = yq_ledger_ends(ledger);
	TupleTableSlot *slot;

	yq_index_scan_seek(scan, container_id);
	while ((slot = yq_index_scan_next(scan)) != NULL)
	{
		End			end = read_end(slot);

		CHECK_FOR_INTERRUPTS();
		if (is_own_preemption(&end))
			return true;
	}
	return false;
}

/*
 * Mark those of which there is a row, and "known" when there is one of it, from any
 * source.  Returns whether there is any row of the container.
 */
static bool
find_noted(YqLedger *ledger, const text *container_id, End *known, End *ends, int count)
{
	YqIndexScan *scan = yq_ledger_ends(ledger);
	TupleTableSlot *slot;
	bool		found = false;

	yq_index_scan_seek(scan, container_id);
	while ((slot = yq_index_scan_next(scan)) != NULL)
	{
		End			row = read_end(slot);

		CHECK_FOR_INTERRUPTS();
		known->is_noted |= is_same_end(known, &row);
		for (int i = 0; i < count; i++)
			ends[i].is_noted |= is_same_end(&ends[i], &row) && ends[i].is_own == row.is_own;
		found = true;
	}
	return found;
}

/* Whether a feed, or several that agree, reported all of them. */
static bool
is_one_end(const End *ends, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (ends[i].is_own || !is_same_end(&ends[i], &ends[0]))
			return false;
	}
	return true;
}

void
yq_reported_end_note(YqLedger *ledger, const YqContainerLife *life,
					 const YqEvent *const *events, int count)
{
	End			known = {life->finished_at, life->has_exit_status, life->exit_status,
	false, NULL, true, false};
	End			ends[MAX_ENDS];
	int			end_count = 0;
	bool		found = false;

	for (int i = 0; i < count; i++)
	{
		End			end;

		CHECK_FOR_INTERRUPTS();
		if (events[i]->kind != YQ_CONTAINER_FINISH)
			continue;
		end = end_of_event(events[i]);
		add_end(ends, &end_count, &end);
	}
	if (end_count == 0)
		return;
	if (life->finished)
	{
		found = find_noted(ledger, life->container_id, &known, ends, end_count);
		/* an end without a row is a feed's */
		if (!known.is_noted)
			add_end(ends, &end_count, &known);
	}
	if (!found && is_one_end(ends, end_count))
		return;
	for (int i = 0; i < end_count; i++)
	{
		if (!ends[i].is_noted)
			put_end(ledger, life->container_id, &ends[i]);
	}
}
