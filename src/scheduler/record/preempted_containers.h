/*-------------------------------------------------------------------------
 *
 * preempted_containers.h
 *	  Running containers that are preempted: by a round, or by an allocation that
 *	  needs the room of killable ones.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTED_CONTAINERS_H
#define YQ_PREEMPTED_CONTAINERS_H

#include "store/saved_plan.h"

/* Containers as the caller knows them, in columns of the same length. */
typedef struct YqPreemptedContainers
{
	int			count;
	const char **container_ids;
	const char **application_ids;
	const char **queues;		/* full paths */
	const char **queue_names;
	Datum	   *allocations;
} YqPreemptedContainers;

/* Room for so many. */
extern YqPreemptedContainers yq_preempted_containers_make(int room);

/*
 * The beginning of a statement about containers ($1 to $5) that are still as the caller
 * knows them: of the same application and queue, and no larger.  Others are left out, and
 * so are those that another transaction is just changing.  "running" has them, locked,
 * each with its place among the columns.
 */
#define YQ_PREEMPTED_RUNNING \
	"WITH wanted AS MATERIALIZED (SELECT w.* FROM unnest($1, $2, $3, $4, $5) WITH ORDINALITY " \
	"AS w (container_id, application_id, queue, queue_name, allocation, place)), " \
	"running AS MATERIALIZED (SELECT w.place, c.container_id, c.application_id, w.queue, COALESCE(c.node, '') AS node, c.allocation, " \
	"c.priority, c.allocation_request_id, c.settled_at " \
	"FROM wanted AS w JOIN yquota.container AS c ON c.container_id = w.container_id " \
	"AND c.application_id = w.application_id AND c.queue IN (w.queue, w.queue_name) " \
	"AND c.allocation OPERATOR(yquota.<@) w.allocation AND c.execution_type = 'GUARANTEED' " \
	"ORDER BY c.container_id FOR UPDATE OF c SKIP LOCKED) "

/* One row for a container and decision: a lost reply, or a mark that was forgotten, makes no second one. */
#define YQ_PREEMPTED_TELL(decision, advised) \
	", told AS (INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, " \
	"allocation_request_id, decided_at, advised) " \
	"SELECT '" decision "', r.container_id, r.application_id, r.queue, r.node, r.allocation, r.priority, " \
	"r.allocation_request_id, $6, " advised " FROM running AS r WHERE NOT EXISTS (SELECT FROM yquota.decision AS d " \
	"WHERE d.container_id = r.container_id AND d.decision = '" decision "') ORDER BY r.container_id) "

#define YQ_PREEMPTED_TYPES {"_text", "_text", "_text", "_text", "yquota._resource", "timestamptz"}

/* Run a statement that returns places (bigint, from 1) of some of so many containers: which are they? */
extern bool *yq_preempted_containers_run(int count, YqSavedPlan *statement, Datum *values);

/* The same for a statement with that beginning, at an instant ($6). */
extern bool *yq_preempted_containers_execute(const YqPreemptedContainers *containers, YqSavedPlan *statement, Datum now);

/* Lock those that are exactly as the caller knows them, no smaller either. */
extern bool *yq_preempted_containers_claim(const YqPreemptedContainers *containers, Datum now);

/*
 * End them: a CONTAINER_FINISH of the exit status PREEMPTED and a decision "killed"; their
 * marks go.
 */
extern bool *yq_preempted_containers_end(const YqPreemptedContainers *containers, Datum now);

#endif							/* YQ_PREEMPTED_CONTAINERS_H */
