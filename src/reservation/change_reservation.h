/*-------------------------------------------------------------------------
 *
 * change_reservation.h
 *	  Submits, updates and deletes a reservation (semantics/reservations 3, 10).
 *
 * A rule that refuses gives a verdict.  Malformed input is an error
 * (reservation_definition.h, load_plan.h).  An unknown id is ERRCODE_UNDEFINED_OBJECT.
 * An id that is in use for another user or definition is ERRCODE_DUPLICATE_OBJECT.
 *
 * Each call locks the plan (load_plan.h) and decides by the newest committed state.  It
 * writes under the lock of the configuration (queue_lock.h), after checking that the
 * configuration has not changed since the decision.  A dry run locks and writes
 * nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CHANGE_RESERVATION_H
#define YQ_CHANGE_RESERVATION_H

#include "reservation/reservation_definition.h"

/* The id of a definition that a dry run only examines.  No reservation has this id. */
#define YQ_UNNAMED_RESERVATION ""

/* A user's call to change a reservation. */
typedef struct YqReservationCall
{
	const char *id;				/* text made by yq_reservation_id_text(), or YQ_UNNAMED_RESERVATION */
	const char *queue;			/* only for submissions */
	const char *project;		/* project, only for submissions; NULL: a dry run without a project */
	YqSubject	subject;
	HeapTupleHeader definition; /* value of yquota.reservation_contract; NULL: none given; not used for deletions */
	Datum		multipliers;	/* array of yquota.price from which a dry run is quoted; 0: the known multipliers */
	bool		is_dry_run;
} YqReservationCall;

typedef struct YqReservationAnswer
{
	YqReservationVerdict verdict;
	const YqHierarchy *hierarchy;	/* hierarchy whose resource types are the types of the verdict's amounts */
	TimestampTz at;				/* time at which the reservation was accepted or ended; not set after a refusal */
	TimestampTz start;			/* first start of an accepted reservation */
	TimestampTz end;			/* last end of an accepted reservation */
	const char *quoted_cost;	/* quoted cost as a decimal number; NULL: not known, or no placement was found */
	HeapTupleHeader with_later_deadline;	/* acceptable definition for a refused dry run, or NULL */
	HeapTupleHeader with_fewer_containers;
} YqReservationAnswer;

extern YqReservationAnswer yq_reservation_submit(const YqReservationCall *call);
extern YqReservationAnswer yq_reservation_update(const YqReservationCall *call);
extern YqReservationAnswer yq_reservation_delete(const YqReservationCall *call);

/* May the user perform an operation?  The plan's access lists or ADMINISTER_RESERVATIONS must allow it. */
extern YqReservationVerdict yq_reservation_check_access(const YqHierarchy *hierarchy, const YqReservationSettings *settings,
														const char *queue, YqQueueOperation operation, const YqSubject *subject);

#endif							/* YQ_CHANGE_RESERVATION_H */
