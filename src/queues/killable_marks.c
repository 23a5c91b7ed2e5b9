/*-------------------------------------------------------------------------
 *
 * killable_marks.c
 *	  Which containers lazy preemption has made killable.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "queues/killable_marks.h"
#include "store/catalog.h"

static const char *const mark_columns[] = {"container_id", "is_killable"};

static void
read_mark(const YqRow *row)
{
	List	  **ids = row->argument;

	CHECK_FOR_INTERRUPTS();
	if (yq_row_bool(row, 1))
		*ids = lappend(*ids, yq_row_text(row, 0));
}

List *
yq_killable_marks_find(Snapshot snapshot)
{
	List	   *ids = NIL;

	if (!yq_table_has_no_pages(YQ_PREEMPTION_MARK))
		yq_table_scan(YQ_PREEMPTION_MARK, snapshot, mark_columns, lengthof(mark_columns), read_mark, &ids);
	return ids;
}

void
yq_killable_marks_read_containers(const List *ids, Snapshot snapshot, const char *const *names, int count,
							YqRowReader reader, void *argument)
{
	ListCell   *cell;

	foreach(cell, ids)
	{
		CHECK_FOR_INTERRUPTS();
		yq_table_scan_index(YQ_CONTAINER, "container_pkey", snapshot, lfirst(cell), NULL, names, count, reader, argument);
	}
}
