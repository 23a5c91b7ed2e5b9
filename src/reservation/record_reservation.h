/*-------------------------------------------------------------------------
 *
 * record_reservation.h
 *	  Reads reservations from the tables, one at a time, and writes them.
 *
 * The caller takes the lock of the plan (load_plan.h) before it reads rows that it will
 * change.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_RESERVATION_H
#define YQ_RECORD_RESERVATION_H

#include "nodes/pg_list.h"
#include "queues/hierarchy.h"
#include "reservation/plan.h"
#include "utils/timestamp.h"

/* The last version of a reservation. */
typedef struct YqRecordedReservation
{
	int			version;
	const char *queue;
	const char *username;
	const char *project;
	bool		is_same;		/* its definition equals the given definition */
	bool		has_ended;
	bool		is_periodic;
	TimestampTz deadline;
	TimestampTz accepted_at;
	TimestampTz ended_at;		/* time at which an ended reservation ended */
	TimestampTz start;			/* start of the first interval */
	TimestampTz end;			/* end of the last interval */
	const char *quoted_cost;	/* credits, a decimal number; NULL: unknown */
} YqRecordedReservation;

/*
 * Return the reservation with an id, palloc'd, or NULL; "definition" is a value of
 * yquota.reservation_contract, or NULL.
 */
extern YqRecordedReservation *yq_reservation_find(const char *id, const HeapTupleHeader definition);

/* Does a charge exist for a reservation with this id?  Its rows may have been deleted. */
extern bool yq_reservation_has_charges(const char *id);

/* Check that the project exists; else raise ERRCODE_FOREIGN_KEY_VIOLATION. */
extern void yq_reservation_check_project(const char *project);

/*
 * Return the cost of a reservation with these placements to its project from a time, in
 * credits: a decimal number.  Version, queue, user and project are those of "recorded",
 * whose project may be NULL.
 */
extern const char *yq_reservation_quote(const YqHierarchy *hierarchy, const char *id, const YqRecordedReservation *recorded,
										const YqPlanReservation *reservation, TimestampTz at);

/*
 * Write an accepted reservation under its id.  Version, queue, user and project are
 * those of "recorded". An earlier version has ended before.  The placements of a
 * periodic reservation become those of its first period, which begins at its arrival.
 *
 * If another transaction has given the id to a reservation of another plan, the
 * function writes nothing and returns false.
 */
extern bool yq_reservation_record(const YqHierarchy *hierarchy, const char *id, const YqRecordedReservation *recorded,
								  const HeapTupleHeader definition, const YqPlanReservation *reservation, TimestampTz now);

/* End the last versions of reservations with these ids (char *): 'updated', 'deleted', 'replanned' or 'archived'. */
extern void yq_reservations_end(const List *ids, const char *ended_by, TimestampTz now);

/* Count a refusal by a plan. */
extern void yq_reservation_count_refusal(const char *queue, const char *decided_by, TimestampTz now);

/* Return the first start and the last end of the placements of a reservation, as they are written. */
extern void yq_reservation_span(const YqPlanReservation *reservation, TimestampTz *start, TimestampTz *end);

#endif							/* YQ_RECORD_RESERVATION_H */
