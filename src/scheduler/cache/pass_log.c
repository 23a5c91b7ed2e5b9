/*-------------------------------------------------------------------------
 *
 * pass_log.c
 *	  What a pass tells other sessions that keep a cluster.
 *
 * The values of an application, in network byte order: a position in the log of the
 * server (8 bytes), which is later in each pass, as passes exclude each other until
 * their transactions end; the number of the next container (8); its place in fair order
 * (8 each of placed_memory, placed_pending and uncounted_memory); how many types of
 * resources there are (4); how many reservations were made, or went (4); how many request
 * keys have changed (4).  Of each reservation priority (4) and request id (8) of its key,
 * the name of the node, and the number of the container (8) with its amounts (8 each), or
 * 0 when it went.  Of each key priority (4), request id (8), the three counters (8 each),
 * how many asks there are (4); of each ask the count (4) and its name.  Names have their
 * lengths (2) in front.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xlog.h"
#include "libpq/pqformat.h"
#include "port/pg_bswap.h"
#include "scheduler/cache/change_reader.h"
#include "scheduler/cache/pass_log.h"
#include "scheduler/decide/allocator.h"
#include "scheduler/load/loader.h"
#include "scheduler/record/change_log.h"
#include "scheduler/state/limits.h"

/* When more applications than this have changed, others had better read everything. */
#define MOST_CHANGES 2000

/* -- writing ------------------------------------------------------------------- */

static bool
is_written(const YqAsk *ask)
{
	return ask->is_changed && ask->source != NULL;
}

static void
put_name(StringInfo buffer, const char *name)
{
	pq_sendint16(buffer, strlen(name));
	pq_sendbytes(buffer, name, strlen(name));
}

static void
put_ask(StringInfo buffer, const YqAsk *ask)
{
	if (!is_written(ask))
		return;
	pq_sendint32(buffer, Max(ask->count, 0));
	put_name(buffer, ask->source);
}

static void
put_key(StringInfo buffer, const YqRequestKey *key)
{
	int			count = is_written(&key->anywhere);

	for (int i = 0; i < key->ask_count; i++)
		count += is_written(&key->asks[i]);
	pq_sendint32(buffer, key->priority);
	pq_sendint64(buffer, key->allocation_request_id);
	pq_sendint64(buffer, key->written.opportunities);
	pq_sendint64(buffer, key->written.missed_non_partitioned);
	pq_sendint64(buffer, key->written.re_reservations);
	pq_sendint32(buffer, count);
	put_ask(buffer, &key->anywhere);
	for (int i = 0; i < key->ask_count; i++)
		put_ask(buffer, &key->asks[i]);
}

static void
put_reservation(StringInfo buffer, const YqCluster *cluster, const YqDecision *decision)
{
	const YqReservation *reservation = decision->reservation;

	pq_sendint32(buffer, reservation->key->priority);
	pq_sendint64(buffer, reservation->key->allocation_request_id);
	put_name(buffer, reservation->node->name);
	pq_sendint64(buffer, decision->kind == YQ_RESERVED ? reservation->container : 0);
	for (int i = 0; decision->kind == YQ_RESERVED && i < cluster->calculator->types; i++)
		pq_sendint64(buffer, reservation->amounts[i]);
}

static YqServed *
make_served(const YqCluster *cluster, const YqClusterApplication *application)
{
	YqServed   *served = palloc(sizeof(YqServed));
	List	   *reserved = yq_loaded(application)->reserved;
	StringInfoData buffer;
	ListCell   *cell;
	int			count = 0;

	for (int i = 0; i < application->key_count; i++)
		count += application->keys[i]->is_changed;
	pq_begintypsend(&buffer);
	pq_sendint64(&buffer, GetXLogInsertRecPtr());
	pq_sendint64(&buffer, application->next_container);
	pq_sendint64(&buffer, application->placed_memory);
	pq_sendint64(&buffer, application->placed_pending);
	pq_sendint64(&buffer, application->uncounted_memory);
	pq_sendint32(&buffer, cluster->calculator->types);
	pq_sendint32(&buffer, list_length(reserved));
	pq_sendint32(&buffer, count);
	foreach(cell, reserved)
		put_reservation(&buffer, cluster, lfirst(cell));
	for (int i = 0; i < application->key_count; i++)
	{
		if (application->keys[i]->is_changed)
			put_key(&buffer, application->keys[i]);
	}
	served->application_id = unconstify(char *, application->application_id);
	served->values = pq_endtypsend(&buffer);
	return served;
}

/* Application masters and updates of containers have more to them. */
static void
note_decisions(const YqCluster *cluster)
{
	for (int i = 0; i < cluster->decision_count; i++)
	{
		YqDecision *decision = &cluster->decisions[i];
		YqLoadedApplication *source = yq_loaded(decision->key->application);

		if (decision->is_master || decision->key->update != NULL)
			source->is_told_by_name = true;
		if (decision->reservation != NULL)
			source->reserved = lappend(source->reserved, decision);
	}
}

static void
forget_decisions(const YqClusterApplication *application)
{
	YqLoadedApplication *source = yq_loaded(application);

	source->is_told_by_name = false;
	list_free(source->reserved);
	source->reserved = NIL;
}

static bool
is_told_by_name(const YqClusterApplication *application)
{
	if (yq_loaded(application)->is_told_by_name || !application->is_demanding)
		return true;
	for (int i = 0; i < application->key_count; i++)
	{
		if (application->keys[i]->is_changed && application->keys[i]->update != NULL)
			return true;
	}
	return false;
}

void
yq_pass_log_write(const YqLoadedCluster *loaded)
{
	List	   *ids = NIL;
	List	   *served = NIL;
	ListCell   *cell;

	if (list_length(loaded->changed) > MOST_CHANGES)
	{
		yq_change_log_everything();
		return;
	}
	note_decisions(loaded->cluster);
	foreach(cell, loaded->changed)
	{
		YqClusterApplication *application = lfirst(cell);

		if (is_told_by_name(application))
			ids = lappend(ids, unconstify(char *, application->application_id));
		else
			served = lappend(served, make_served(loaded->cluster, application));
		forget_decisions(application);
	}
	yq_change_log_applications(ids);
	yq_change_log_served(served);
}

/* -- reading --------------------------------------------------------------------- */

uint64
yq_pass_log_position(const bytea *values)
{
	uint64		position;

	memcpy(&position, VARDATA(values), sizeof(position));
	return pg_ntoh64(position);
}

static YqRequestKey *
find_key(const YqClusterApplication *application, int32 priority, int64 allocation_request_id)
{
	return yq_cluster_find_key(application, application->key_count, priority, allocation_request_id, NULL);
}

static void
set_count(const YqCluster *cluster, YqRequestKey *key, YqAsk *ask, int64 count)
{
	if (ask == &key->anywhere && key->label >= 0)
		yq_pending_change(cluster, key->application, key->label, ask->amounts, count - ask->count);
	if (ask->count > 0 && count == 0)
		key->unique_asks--;
	if (ask == &key->anywhere && ask->count <= 0 && count > 0)
		yq_cluster_look_for_wanted_keys(key->application);
	ask->count = count;
	ask->is_changed = true;
}

static char *
get_name(StringInfo buffer)
{
	int			length = pq_getmsgint(buffer, 2);

	return pnstrdup(pq_getmsgbytes(buffer, length), length);
}

static bool
apply_reservation(YqCluster *cluster, YqClusterApplication *application, StringInfo buffer)
{
	int32		priority = pq_getmsgint(buffer, 4);
	int64		allocation_request_id = pq_getmsgint64(buffer);
	YqRequestKey *key = find_key(application, priority, allocation_request_id);
	YqClusterNode *node = yq_cluster_node(cluster, get_name(buffer));
	int64		container = pq_getmsgint64(buffer);
	int64		amounts[YQ_MAX_RESOURCE_TYPES];

	for (int i = 0; container > 0 && i < cluster->calculator->types; i++)
		amounts[i] = pq_getmsgint64(buffer);
	if (key == NULL || node == NULL || (node->reservation == NULL) != (container > 0))
		return false;
	if (container > 0)
		(void) yq_cluster_add_reservation(cluster, key, node, container, amounts);
	else if (node->reservation->key == key)
		yq_cluster_remove_reservation(cluster, node->reservation);
	else
		return false;
	return true;
}

static bool
apply_ask(YqCluster *cluster, YqRequestKey *key, StringInfo buffer)
{
	int64		count = pq_getmsgint(buffer, 4);
	char	   *name = get_name(buffer);
	YqAsk	   *ask = strcmp(name, "*") == 0 ? &key->anywhere : yq_ask_of(key, yq_cluster_name(cluster, name));

	pfree(name);
	if (ask == NULL || ask->amounts == NULL)
		return false;
	set_count(cluster, key, ask, count);
	return true;
}

static bool
apply_key(YqCluster *cluster, YqClusterApplication *application, StringInfo buffer)
{
	int32		priority = pq_getmsgint(buffer, 4);
	int64		allocation_request_id = pq_getmsgint64(buffer);
	YqRequestKey *key = find_key(application, priority, allocation_request_id);
	int			count;

	if (key == NULL)
		return false;
	key->opportunities = pq_getmsgint64(buffer);
	key->missed_non_partitioned = pq_getmsgint64(buffer);
	key->re_reservations = pq_getmsgint64(buffer);
	count = pq_getmsgint(buffer, 4);
	for (int i = 0; i < count; i++)
	{
		if (!apply_ask(cluster, key, buffer))
			return false;
	}
	return true;
}

static bool
apply(YqCluster *cluster, YqClusterApplication *application, StringInfo buffer)
{
	int			reservations;
	int			keys;

	application->next_container = yq_loaded(application)->next_container = pq_getmsgint64(buffer);
	application->placed_memory = pq_getmsgint64(buffer);
	application->placed_pending = pq_getmsgint64(buffer);
	application->uncounted_memory = pq_getmsgint64(buffer);
	if (pq_getmsgint(buffer, 4) != (unsigned int) cluster->calculator->types)
		return false;
	reservations = pq_getmsgint(buffer, 4);
	keys = pq_getmsgint(buffer, 4);
	for (int i = 0; i < reservations; i++)
	{
		if (!apply_reservation(cluster, application, buffer))
			return false;
	}
	for (int i = 0; i < keys; i++)
	{
		if (!apply_key(cluster, application, buffer))
			return false;
	}
	return true;
}

bool
yq_pass_log_apply(YqLoadedCluster *loaded, const char *application_id, const bytea *values)
{
	YqClusterApplication *application = yq_loader_application(loaded->loader, application_id);
	StringInfoData buffer = {.data = (char *) VARDATA(values),.len = VARSIZE(values) - VARHDRSZ,.cursor = sizeof(uint64)};

	if (application == NULL || !apply(loaded->cluster, application, &buffer))
		return false;
	yq_cluster_settle_application(loaded, application);
	return true;
}
