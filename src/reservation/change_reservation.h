/*-------------------------------------------------------------------------
 *
 * change_reservation.h
 *	  Submitting, updating and deleting a reservation (reservation 3, 10).
 *
 * A rule that says no is a verdict; what is malformed is an error
 * (reservation_definition.h, load_plan.h), and so are an unknown id
 * (ERRCODE_UNDEFINED_OBJECT) and one that is in use for another user or definition
 * (ERRCODE_DUPLICATE_OBJECT).
 *
 * Each call locks the plan (load_plan.h), decides by the newest committed state, and writes
 * under the lock of the configuration (queue_lock.h) what this configuration decides.  A dry
 * run locks and writes nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CHANGE_RESERVATION_H
#define YQ_CHANGE_RESERVATION_H

#include "reservation/reservation_definition.h"

/* The id, in a dry run, of a definition that is only looked at: no reservation has it. */
#define YQ_UNNAMED_RESERVATION ""

/* What a user asks for. */
typedef struct YqReservationCall
{
	const char *id;				/* as yq_reservation_id_text() writes it, or YQ_UNNAMED_RESERVATION */
	const char *queue;			/* submissions only, as the next one */
	const char *project;		/* NULL in a dry run: any */
	YqSubject	subject;
	HeapTupleHeader definition; /* a value of yquota.reservation_contract, NULL for none; not when it is deleted */
	bool		is_dry_run;
} YqReservationCall;

typedef struct YqReservationAnswer
{
	YqReservationVerdict verdict;
	const YqHierarchy *hierarchy;	/* of the verdict's amounts */
	TimestampTz at;				/* when it was accepted, or ended; not when it is refused */
	TimestampTz start;			/* of an accepted one: the first start and the last end */
	TimestampTz end;
	const char *quoted_cost;	/* what it would cost, a decimal number; NULL when it found no place, or is not known */
	HeapTupleHeader with_later_deadline;	/* definitions that would be accepted, of a dry run that is refused; NULL for none */
	HeapTupleHeader with_fewer_containers;
} YqReservationAnswer;

extern YqReservationAnswer yq_reservation_submit(const YqReservationCall *call);
extern YqReservationAnswer yq_reservation_update(const YqReservationCall *call);
extern YqReservationAnswer yq_reservation_delete(const YqReservationCall *call);

/* Do the plan's lists allow an operation, or ADMINISTER_RESERVATIONS? */
extern YqReservationVerdict yq_reservation_check_access(const YqHierarchy *hierarchy, const YqReservationSettings *settings,
														const char *queue, YqQueueOperation operation, const YqSubject *subject);

#endif							/* YQ_CHANGE_RESERVATION_H */
