/*-------------------------------------------------------------------------
 *
 * event.h
 *	  A lifecycle event as it was inserted.
 *
 * An event read from a row points into that row; yq_event_copy() makes an event that
 * does not need the row.  NULL columns are NULL pointers, InvalidOid, or flags.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_EVENT_H
#define YQ_EVENT_H

#include "access/attnum.h"
#include "base/bytes_table.h"
#include "base/resource.h"
#include "datatype/timestamp.h"
#include "executor/tuptable.h"
#include "storage/itemptr.h"

/* -- errors -------------------------------------------------------------------- */

/*
 * Problems: errors that can be recorded instead of raised.
 *
 * A bad event either raises an error or is set aside with its reason.  If it is set aside, the
 * rest of the statement is charged (docs/design.md 1.7).  A YqProblem describes the error,
 * palloc'd in the current context.  The caller raises or records it.
 */

typedef struct YqProblem
{
	int			sqlstate;
	char	   *message;		/* primary message, in the server's style */
	char	   *hint;			/* NULL for none */
	bool		may_wait;		/* true when the arrival of the container's START resolves the problem */
} YqProblem;

extern YqProblem *yq_problem(int sqlstate, char *message, const char *hint);

/* Raise a problem as an error with the given detail. */
pg_noreturn extern void yq_problem_raise(const YqProblem *problem, const char *detail);

/* -- event --------------------------------------------------------------------- */

/*
 * Columns that container_event, event_reject and deferred_event have in common.  Each table has
 * two runs of consecutive columns, in this order; see YqEventLayout.
 */
typedef enum YqEventColumn
{
	YQ_EVENT_KIND,
	YQ_EVENT_CONTAINER_ID,
	YQ_EVENT_OCCURRED_AT,
	YQ_EVENT_PROJECT,
	YQ_EVENT_APPLICATION_ID,
	YQ_EVENT_USERNAME,
	YQ_EVENT_QUEUE,
	YQ_EVENT_NODE,
	YQ_EVENT_ALLOCATION,
	YQ_EVENT_EXECUTION_TYPE,
	YQ_EVENT_EXIT_STATUS,
	YQ_EVENT_SOURCE,
	YQ_EVENT_RECORDED_AT,
	YQ_EVENT_SECOND_RUN,
	YQ_EVENT_PRIORITY = YQ_EVENT_SECOND_RUN,
	YQ_EVENT_ALLOCATION_REQUEST_ID,
	YQ_EVENT_ASKED_LABEL,
	YQ_EVENT_IS_AM,
	YQ_EVENT_IS_RUNNING,
	YQ_EVENT_EVENT_ID,
	YQ_EVENT_COLUMNS
} YqEventColumn;

/* The largest number of bytes of the name of a project, user, application, node or feed in an event. */
#define YQ_NAME_MAX_LENGTH 255

/* YARN's ContainerExitStatus.PREEMPTED. */
#define YQ_EXIT_PREEMPTED (-102)

/* Kinds of events, in the order of settling for events of the same instant. */
typedef enum YqEventKind
{
	YQ_CONTAINER_START,
	YQ_CONTAINER_UPDATE,
	YQ_CONTAINER_FINISH,
	YQ_QUOTA_COMPUTE,
	YQ_EVENT_KINDS
} YqEventKind;

/*
 * Attribute numbers of the first column in each of the two runs of event columns, and of sent_by.
 * The number of sent_by is 0 if the table has no such column.
 */
typedef struct YqEventLayout
{
	AttrNumber	first_run;
	AttrNumber	second_run;
	AttrNumber	sent_by;
} YqEventLayout;

#define YQ_EVENT_ATTRIBUTE(layout, column) \
	((column) < YQ_EVENT_SECOND_RUN ? (layout)->first_run + (column) : \
	 (layout)->second_run + (column) - YQ_EVENT_SECOND_RUN)

extern const YqEventLayout yq_event_logged; /* container_event */
extern const YqEventLayout yq_event_rejected;	/* event_reject */
extern const YqEventLayout yq_event_deferred;	/* deferred_event */

/* A nullable boolean.  Zero stands for NULL. */
typedef enum YqAnswer
{
	YQ_ANSWER_NULL,
	YQ_ANSWER_NO,
	YQ_ANSWER_YES
} YqAnswer;

/* The role of a container among the containers of its application, as the scheduler has recorded it. */
typedef struct YqContainerRole
{
	bool		has_priority;
	bool		has_allocation_request_id;
	YqAnswer	is_am;
	int32		priority;
	int64		allocation_request_id;
	text	   *asked_label;	/* node label that was requested; the node may have another label */
} YqContainerRole;

typedef struct YqEvent
{
	YqEventKind kind;
	text	   *container_id;
	bool		has_occurred_at;
	TimestampTz occurred_at;
	text	   *project;
	text	   *application_id;
	text	   *username;
	text	   *queue;
	text	   *node;
	YqResource *allocation;
	Oid			execution_type; /* OID of a value of yquota.execution_type */
	bool		has_exit_status;
	int32		exit_status;
	text	   *source;
	TimestampTz recorded_at;
	YqContainerRole role;
	YqAnswer	is_running;
	int64		event_id;		/* number of the event; 0 if the event was logged before events had numbers */
	int64		arrival;		/* number of the statement for a deferred event; otherwise 0 */
	text	   *sent_by;		/* role that sent a deferred or waiting event; NULL if it is not known */

	/* valid if the event waited in event_reject */
	bool		waited;
	ItemPointerData reject_tid;
} YqEvent;

/* OIDs of enum values, looked up once per statement. */
typedef struct YqEventLabels
{
	Oid			kinds[YQ_EVENT_KINDS];
	Oid			guaranteed;
	Oid			opportunistic;
} YqEventLabels;

extern void yq_event_labels_load(YqEventLabels *labels);

/* Return the name of a kind, such as CONTAINER_START. */
extern const char *yq_event_kind_name(YqEventKind kind);

/* Read the event from the row in a slot. */
extern void yq_event_read(YqEvent *event, TupleTableSlot *slot, const YqEventLayout *layout,
						  const YqEventLabels *labels);

/* Read only the columns by which events are sorted: kind, container and instant. */
extern void yq_event_read_place(YqEvent *event, TupleTableSlot *slot,
								const YqEventLayout *layout, const YqEventLabels *labels);

/* Read or write the nullable columns of a row, given their attribute numbers. */
extern void yq_event_read_role(YqContainerRole *role, YqAnswer *is_running,
							   TupleTableSlot *slot, AttrNumber first);
extern void yq_event_write_role(const YqContainerRole *role, YqAnswer is_running,
								Datum *values, bool *nulls, AttrNumber first);

/* Return a copy of an event in the current memory context, allocated as a single chunk. */
extern YqEvent *yq_event_copy(const YqEvent *event);

/* Set the columns of an event in a row that will be written.  values[0] is the row's first column. */
extern void yq_event_write(const YqEvent *event, Datum *values, bool *nulls,
						   const YqEventLayout *layout, const YqEventLabels *labels);

/* Return the palloc'd name of the role that sends the events of the current statement. */
extern text *yq_event_sender(void);

/*
 * Tell whether one of yquota's functions sent an event.  Such an event has a source that these
 * functions use.
 */
extern bool yq_event_is_own(const YqEvent *event);

/* Tell whether an event is the START of a container from yquota's scheduler. */
extern bool yq_event_is_given(const YqEvent *event);

/* Tell whether an event is a FINISH with YARN's exit status for preempted containers. */
extern bool yq_event_tells_preemption(const YqEvent *event);

/* Tell whether an event is more than yquota.max_clock_skew ahead of the clock. */
extern bool yq_event_is_ahead(const YqEvent *event, TimestampTz now);

/*
 * Check the content of an event, and return its problem or NULL. "now" is the statement's clock.
 * "latest" is an instant that is known to have passed, even if it is later than the clock.  Other
 * functions check resource types and projects.
 */
extern YqProblem *yq_event_check(const YqEvent *event, TimestampTz now, TimestampTz latest);

/* Describe the row in words for an error detail; the text is palloc'd. */
extern char *yq_event_describe(const YqEvent *event);

/* Tell whether two allocations are equal.  Two NULLs are equal. */
extern bool yq_allocation_equal(const YqResource *a, const YqResource *b);

/*
 * Find the payer of an event: its project and user.  If the event has no project, its username is
 * read as project__user, split at the first double underscore.  If the username has no double
 * underscore, it is both project and user.  Results are palloc'd in the current context or belong
 * to the event.  They are NULL if the event does not contain them.
 */
extern void yq_event_payer(const YqEvent *event, text **project, text **username);

#endif							/* YQ_EVENT_H */
