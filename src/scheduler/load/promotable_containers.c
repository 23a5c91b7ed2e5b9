/*-------------------------------------------------------------------------
 *
 * promotable_containers.c
 *	  OPPORTUNISTIC containers that a cycle may promote by a rule.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/submission/request.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/text.h"
#include "scheduler/load/held_subjects.h"
#include "scheduler/load/loaded_cluster.h"
#include "scheduler/load/promotable_containers.h"
#include "store/clock.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

enum
{
	PROMOTABLE_CONTAINER_ID,
	PROMOTABLE_APPLICATION_ID,
	PROMOTABLE_NODE,
	PROMOTABLE_QUEUE,
	PROMOTABLE_USERNAME,
	PROMOTABLE_LABEL,
	PROMOTABLE_ALLOCATION,
	PROMOTABLE_PRIORITY,
	PROMOTABLE_ALLOCATION_REQUEST_ID,
	PROMOTABLE_RAN,
	PROMOTABLE_COLUMNS
};

typedef struct Promotable
{
	Datum		values[PROMOTABLE_COLUMNS];
	bool		nulls[PROMOTABLE_COLUMNS];
} Promotable;

static char *
text_of(const Promotable *row, int column)
{
	return row->nulls[column] ? NULL : TextDatumGetCString(row->values[column]);
}

/*
 * Return the partition that update_container() would use for a promotion.  It is the default
 * partition if the queue may no longer use the label of the container.
 */
static int
label_of(const YqHierarchy *hierarchy, const YqQueue *queue, const char *label)
{
	YqVerdict	verdict = {.decided_by = NULL};

	if (!hierarchy->settings.has_node_labels || label == NULL ||
		!yq_request_label(hierarchy, queue, label, &label, &verdict) || label == NULL)
		return 0;
	return yq_hierarchy_label(hierarchy, label);
}

/* Add requests for one container on the node.  They are sorted by name, as yq_cluster_prepare() sorts requests. */
static void
request(YqPromotableContainer *container, const int64 *amounts)
{
	YqResourceRequest wanted = {.count = 1,.amounts = amounts};
	int			own = container->node->name_number > container->node->rack_number;

	container->key.anywhere = container->requests[0] = container->requests[1] = wanted;
	container->key.anywhere.name = YQ_ANYWHERE;
	container->requests[own].name = container->node->name_number;
	container->requests[1 - own].name = container->node->rack_number;
	container->key.requests = container->requests;
	container->key.request_count = 2;
	container->key.unique_requests = 3;
}

/*
 * Return a promotable container, or NULL.  NULL means that the queue has no rule, that the
 * container has not run long enough, or that the cluster lacks its application or node.
 */
static YqPromotableContainer *
make_promotable(const YqLoadedCluster *loaded, const Promotable *row)
{
	const YqCluster *cluster = loaded->cluster;
	YqClusterApplication *application = yq_loader_application(loaded->loader, text_of(row, PROMOTABLE_APPLICATION_ID));
	YqClusterNode *node = yq_cluster_node(cluster, text_of(row, PROMOTABLE_NODE));
	int64		ran = DatumGetInt64(row->values[PROMOTABLE_RAN]);
	const char *queue = text_of(row, PROMOTABLE_QUEUE);
	const char *username = text_of(row, PROMOTABLE_USERNAME);
	const YqQueue *leaf = application == NULL ? NULL : application->leaf->queue;
	YqPromotableContainer *container;
	int64	   *amounts;

	if (node == NULL || leaf == NULL || application->waits_for_master || leaf->promotes_as == NULL ||
		ran < leaf->promotes_as->auto_promote_after)
		return NULL;
	container = palloc0(sizeof(YqPromotableContainer));
	amounts = yq_hierarchy_read_amounts(cluster->hierarchy, row->values[PROMOTABLE_ALLOCATION]);
	container->update = (YqContainerUpdate) {.container_id = text_of(row, PROMOTABLE_CONTAINER_ID),.is_promotion = true,
		.is_by_rule = true,.ran = ran,.present = amounts,.allocation = amounts};
	container->node = node;
	container->is_elsewhere = queue == NULL || strcmp(queue, leaf->path) != 0 ||
		username == NULL || strcmp(username, application->user->username) != 0;
	container->key.application = application;
	container->key.update = &container->update;
	container->key.priority = DatumGetInt32(row->values[PROMOTABLE_PRIORITY]);
	container->key.allocation_request_id = DatumGetInt64(row->values[PROMOTABLE_ALLOCATION_REQUEST_ID]);
	container->key.label = label_of(cluster->hierarchy, leaf, text_of(row, PROMOTABLE_LABEL));
	/* the container stays on its node, so it need not wait for nodes of the default partition */
	container->key.missed_non_partitioned = cluster->node_count;
	request(container, amounts);
	return container;
}

/* -- whether any container is due ------------------------------------------------- */

/* Find a container in the queue of a node that has run long enough for a promotion. */
typedef struct DueSearch
{
	TimestampTz now;
	int64		after;
	Oid			opportunistic;
	bool		is_found;
} DueSearch;

static const char *const due_columns[] = {"state", "execution_type", "enqueued_at", "waited"};

static void
look_at_queued(const YqRow *row)
{
	DueSearch  *search = row->argument;
	YqBytes		state = yq_row_bytes(row, 0);
	bool		isnull;
	const Interval *waited = DatumGetIntervalP(yq_row_value(row, 3, &isnull));
	int64		ran = search->now - DatumGetTimestampTz(yq_row_value(row, 2, &isnull)) -
		waited->time - (waited->day + (int64) waited->month * DAYS_PER_MONTH) * USECS_PER_DAY;

	search->is_found = search->is_found ||
		(ran >= search->after && DatumGetObjectId(yq_row_value(row, 1, &isnull)) == search->opportunistic &&
		 state.length == strlen("RUNNING") && memcmp(state.data, "RUNNING", state.length) == 0);
}

/* Has any container on the nodes run long enough?  In most heartbeats none has, so no statement need be run. */
static bool
is_any_due(int64 after, const char **nodes, int node_count)
{
	DueSearch	search = {.now = yq_clock_now(),.after = after,.opportunistic = yq_enum_oid("execution_type", "OPPORTUNISTIC")};
	Snapshot	snapshot = yq_latest_snapshot();

	for (int i = 0; i < node_count && !search.is_found; i++)
		yq_table_scan_index(YQ_NODE_QUEUE, "node_queue_node_idx", snapshot, nodes[i], NULL, due_columns, lengthof(due_columns),
							look_at_queued, &search);
	UnregisterSnapshot(snapshot);
	return search.is_found;
}

/* -- all -------------------------------------------------------------------------- */

#define LOOK_UP_PROMOTABLE(condition) \
	"SELECT p.container_id, p.application_id, p.node, p.queue, p.username, p.label, p.allocation, p.priority, p.allocation_request_id, r.ran " \
	"FROM yquota_internal.promotable_container AS p, " \
	"LATERAL (SELECT (EXTRACT(epoch FROM $1 - p.enqueued_at - p.waited) * 1000000)::bigint AS ran) AS r " \
	"WHERE r.ran >= $2 " condition "AND NOT " YQ_IS_HELD(YQ_ROUND_SCHEDULE, "p.container_id") " ORDER BY r.ran DESC, p.container_id"

List *
yq_promotable_containers_read(const YqLoadedCluster *loaded, const char **nodes, int node_count)
{
	static YqSavedPlan look_up_all = {.command = LOOK_UP_PROMOTABLE(""),.types = {"timestamptz", "int8"}};
	static YqSavedPlan look_up_some = {
		.command = LOOK_UP_PROMOTABLE("AND p.node = ANY ($3) "),
		.types = {"timestamptz", "int8", "_text"},
		.plans_once = true
	};
	MemoryContext caller = CurrentMemoryContext;
	List	   *containers = NIL;
	Datum		values[3] = {TimestampTzGetDatum(yq_clock_now()), Int64GetDatum(loaded->cluster->hierarchy->shortest_auto_promotion)};
	uint64		count;

	if (nodes != NULL && !is_any_due(loaded->cluster->hierarchy->shortest_auto_promotion, nodes, node_count))
		return NIL;
	if (nodes != NULL)
		values[2] = yq_array_of_names(nodes, node_count);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(nodes == NULL ? &look_up_all : &look_up_some, values, NULL);
	MemoryContextSwitchTo(caller);
	for (uint64 i = 0; i < count; i++)
	{
		Promotable	row;
		YqPromotableContainer *container;

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, row.values, row.nulls);
		container = make_promotable(loaded, &row);
		if (container != NULL)
			containers = lappend(containers, container);
	}
	SPI_finish();
	return containers;
}

char *
yq_promotion_diagnostics(const YqSchedulerKey *key)
{
	const YqQueue *rule = key->application->leaf->queue->promotes_as;
	const int64 ran = key->update->ran;

	return psprintf("Promoted by rule: the container has run for " INT64_FORMAT ".%03d s, auto_promote_after of queue %s is " INT64_FORMAT ".%03d s",
					ran / USECS_PER_SEC, (int) (ran % USECS_PER_SEC / 1000), rule->path,
					rule->auto_promote_after / USECS_PER_SEC, (int) (rule->auto_promote_after % USECS_PER_SEC / 1000));
}
