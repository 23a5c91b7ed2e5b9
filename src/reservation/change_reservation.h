/*-------------------------------------------------------------------------
 *
 * change_reservation.h
 *	  Submits, updates and deletes a reservation (reservation 3, 10).
 *
 * A rule that refuses gives a verdict.  Malformed input is an error (reservation_definition.h,
 * load_plan.h).  An unknown id is an error, too (ERRCODE_UNDEFINED_OBJECT), as is an id in use for
 * another user or definition (ERRCODE_DUPLICATE_OBJECT).
 *
 * Each call locks the plan (load_plan.h) and decides by the newest committed state.  It writes
 * under the lock of the configuration (queue_lock.h), by which it has decided.  A dry run locks and
 * writes nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CHANGE_RESERVATION_H
#define YQ_CHANGE_RESERVATION_H

#include "reservation/reservation_definition.h"

/* The id, in a dry run, of a definition that is only examined: no reservation has it. */
#define YQ_UNNAMED_RESERVATION ""

/* A call of a user. */
typedef struct YqReservationCall
{
	const char *id;				/* as yq_reservation_id_text() writes it, or YQ_UNNAMED_RESERVATION */
	const char *queue;			/* submissions only, as project */
	const char *project;		/* NULL in a dry run: any project */
	YqSubject	subject;
	HeapTupleHeader definition; /* a value of yquota.reservation_contract, NULL for none; unused in deletions */
	bool		is_dry_run;
} YqReservationCall;

typedef struct YqReservationAnswer
{
	YqReservationVerdict verdict;
	const YqHierarchy *hierarchy;	/* hierarchy of the verdict's amounts */
	TimestampTz at;				/* time of the acceptance or of the end; unset after a refusal */
	TimestampTz start;			/* the first start and the last end of an accepted reservation */
	TimestampTz end;
	const char *quoted_cost;	/* quoted cost, a decimal number; NULL: no place found, or not known */
	HeapTupleHeader with_later_deadline;	/* for a refused dry run: acceptable definitions, or NULL */
	HeapTupleHeader with_fewer_containers;
} YqReservationAnswer;

extern YqReservationAnswer yq_reservation_submit(const YqReservationCall *call);
extern YqReservationAnswer yq_reservation_update(const YqReservationCall *call);
extern YqReservationAnswer yq_reservation_delete(const YqReservationCall *call);

/* Do the plan's lists allow an operation, or ADMINISTER_RESERVATIONS? */
extern YqReservationVerdict yq_reservation_check_access(const YqHierarchy *hierarchy, const YqReservationSettings *settings,
														const char *queue, YqQueueOperation operation, const YqSubject *subject);

#endif							/* YQ_CHANGE_RESERVATION_H */
