/*-------------------------------------------------------------------------
 *
 * killable_marks.h
 *	  Which containers lazy preemption has made killable.
 *
 * Rows of yquota_internal.preemption_mark tell, whatever the setting is now: as in
 * Hadoop, the room of killable containers may still be used when lazy preemption is
 * switched off.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_KILLABLE_MARKS_H
#define YQ_KILLABLE_MARKS_H

#include "nodes/pg_list.h"
#include "store/table_scan.h"
#include "utils/snapshot.h"

/* The ids (palloc'd char *) of killable containers; some of them may have ended. */
extern List *yq_killable_marks_find(Snapshot snapshot);

/* Call the reader for the rows of those that run, in the order of the list. */
extern void yq_killable_marks_read_containers(const List *ids, Snapshot snapshot, const char *const *names, int count,
										YqRowReader reader, void *argument);

#endif							/* YQ_KILLABLE_MARKS_H */
