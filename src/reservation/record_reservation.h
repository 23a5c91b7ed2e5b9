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

/* The last version of a reservation in the tables. */
typedef struct YqRecordedReservation
{
	int			version;
	const char *queue;
	const char *username;
	const char *project;
	bool		is_same;		/* the reservation's definition equals the definition in the call */
	bool		has_ended;
	bool		is_periodic;
	TimestampTz deadline;
	TimestampTz accepted_at;
	TimestampTz ended_at;		/* time of the end, if the reservation has ended */
	TimestampTz start;			/* start of the first interval */
	TimestampTz end;			/* end of the last interval */
	const char *quoted_cost;	/* quoted credits as a decimal number; NULL: unknown */
} YqRecordedReservation;

/*
 * Return the last version of the reservation with an id, palloc'd, or NULL.  "definition"
 * is a yquota.reservation_contract, or NULL; it is compared with the recorded definition.
 */
extern YqRecordedReservation *yq_reservation_find(const char *id, const HeapTupleHeader definition);

/*
 * Does the reservation with this id have charges?  There may be charges even if the
 * reservation's rows have been deleted.
 */
extern bool yq_reservation_has_charges(const char *id);

/* Check that the project exists.  Raises ERRCODE_FOREIGN_KEY_VIOLATION otherwise. */
extern void yq_reservation_check_project(const char *project);

/*
 * Return what a reservation with these placements costs its project from a time on:
 * credits, as a decimal number.  Version, queue, user and project are taken from
 * "recorded"; its project may be NULL.  "multipliers" is an array of yquota.price that
 * replaces the known multipliers; 0: none.
 */
extern const char *yq_reservation_quote(const YqHierarchy *hierarchy, const char *id, const YqRecordedReservation *recorded,
										const YqPlanReservation *reservation, Datum multipliers, TimestampTz at);

/*
 * Write an accepted reservation under this id.  Version, queue, user and project are taken
 * from "recorded".  The earlier version must have ended.  The placements of a periodic
 * reservation are moved into its first period, which begins at its arrival.
 *
 * Returns false, and writes nothing, if another transaction has given the id to a
 * reservation of another plan.
 */
extern bool yq_reservation_record(const YqHierarchy *hierarchy, const char *id, const YqRecordedReservation *recorded,
								  const HeapTupleHeader definition, const YqPlanReservation *reservation, TimestampTz now);

/*
 * End the last versions of reservations with these ids (char *).  "ended_by" is 'updated',
 * 'deleted', 'replanned' or 'archived'.
 */
extern void yq_reservations_end(const List *ids, const char *ended_by, TimestampTz now);

/* Count a refusal in the statistics of the plan. */
extern void yq_reservation_count_refusal(const char *queue, const char *decided_by, TimestampTz now);

/* Return the first start and the last end of a reservation's placements, as they will be written. */
extern void yq_reservation_span(const YqPlanReservation *reservation, TimestampTz *start, TimestampTz *end);

#endif							/* YQ_RECORD_RESERVATION_H */
