/*-------------------------------------------------------------------------
 *
 * parallel.c
 *	  Limits of the number of applications that run at the same time.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "admission/application/parallel.h"
#include "base/bytes_table.h"
#include "miscadmin.h"
#include "store/catalog.h"
#include "store/table_scan.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* -- limits of users ------------------------------------------------------- */

typedef struct UserLimit
{
	YqBytes		key;			/* username */
	int			limit;
} UserLimit;

/*
 * Limits of max-parallel-apps for users.  Each session keeps them until a table from
 * which they were read changes.
 */
static MemoryContext limits_context = NULL;
static HTAB *user_limits = NULL;
static int	limit_of_others;
static bool limits_are_current = false;

static void
read_user_limit(const YqRow *row)
{
	int			limit = yq_row_integer(row, 1, YQ_UNLIMITED);
	char	   *name = yq_row_text(row, 0);
	YqBytes		key = yq_bytes_of_string(name);
	UserLimit  *entry;
	bool		found;
	bool		isnull;

	(void) yq_row_value(row, 1, &isnull);
	if (isnull)
		return;
	entry = yq_bytes_table_enter(user_limits, key, limits_context, &found);
	entry->limit = limit;
}

static void
read_limit_of_others(const YqRow *row)
{
	limit_of_others = yq_row_integer(row, 0, YQ_UNLIMITED);
}

static void
load_user_limits(void)
{
	static const char *const user_columns[] = {"username", "max_parallel_apps"};
	static const char *const setting_columns[] = {"user_max_parallel_apps"};
	Snapshot	snapshot = yq_latest_snapshot();

	if (limits_context == NULL)
		limits_context = AllocSetContextCreate(CacheMemoryContext, "yquota limits of users", ALLOCSET_SMALL_SIZES);
	MemoryContextReset(limits_context);
	user_limits = yq_bytes_table_create("yquota limits of users", sizeof(UserLimit), limits_context);
	limit_of_others = YQ_UNLIMITED;
	yq_table_scan(YQ_USER_SETTING, snapshot, user_columns, lengthof(user_columns), read_user_limit, NULL);
	yq_table_scan(YQ_SCHEDULER_SETTING, snapshot, setting_columns, lengthof(setting_columns),
				 read_limit_of_others, NULL);
	UnregisterSnapshot(snapshot);
}

/*
 * Load the limits unless they are current.  In a parallel plan they are never marked as
 * current, because the plan's snapshot may be older than an invalidation that was
 * already processed.
 */
static void
refresh_user_limits(void)
{
	static bool is_watching = false;

	if (!is_watching)
	{
		/* a change of either table invalidates yquota.queue; on a replica, it invalidates the table itself */
		yq_catalog_on_change_of_rows(YQ_QUEUE, &limits_are_current);
		yq_catalog_on_change_of_rows(YQ_USER_SETTING, &limits_are_current);
		yq_catalog_on_change_of_rows(YQ_SCHEDULER_SETTING, &limits_are_current);
		yq_catalog_on_abort(&limits_are_current);
		is_watching = true;
	}
	yq_catalog_accept_changes();
	if (limits_are_current)
		return;
	/* an invalidation that arrives during the read clears the flag */
	limits_are_current = !IsInParallelMode();
	PG_TRY();
	{
		load_user_limits();
	}
	PG_CATCH();
	{
		limits_are_current = false;
		PG_RE_THROW();
	}
	PG_END_TRY();
}

int
yq_parallel_user_limit(const char *username)
{
	YqBytes		key = yq_bytes_of_string(username);
	UserLimit  *entry;

	refresh_user_limits();
	entry = yq_bytes_table_find(user_limits, key);
	return entry == NULL ? limit_of_others : entry->limit;
}

/* -- limits of queues ------------------------------------------------------ */

int
yq_parallel_queue_limit(const YqQueue *queue)
{
	const char *value = queue->inherited[YQ_INHERITED_MAX_PARALLEL_APPS].value;

	return value == NULL ? YQ_UNLIMITED : (int) strtol(value, NULL, 10);
}

List *
yq_parallel_limited_queues(const YqQueue *queue)
{
	List	   *result = NIL;

	for (; queue != NULL; queue = queue->parent)
	{
		if (yq_parallel_queue_limit(queue) != YQ_UNLIMITED)
			result = lcons(unconstify(YqQueue *, queue), result);
	}
	return result;
}

/* -- running applications -------------------------------------------------- */

typedef struct UserRunning
{
	YqBytes		key;			/* username */
	int64		running;
} UserRunning;

typedef struct Running
{
	const YqHierarchy *hierarchy;
	Snapshot	snapshot;
	int64	   *of_queue;		/* indexed by queue number; -1: not counted yet */
	HTAB	   *of_user;
} Running;

typedef struct Count
{
	Running    *running;
	const YqQueue *top;			/* topmost of the queues that are counted */
	int64		sum;
} Count;

static const char *const counter_columns[] = {"accepted", "active", "queue"};

static Running
begin_counting(const YqHierarchy *hierarchy)
{
	Running		running = {.hierarchy = hierarchy, .snapshot = yq_latest_snapshot()};

	running.of_queue = palloc_extended(sizeof(int64) * Max(hierarchy->queue_count, 1), MCXT_ALLOC_HUGE);
	memset(running.of_queue, -1, sizeof(int64) * hierarchy->queue_count);
	running.of_user = yq_bytes_table_create("yquota running applications of users", sizeof(UserRunning),
											CurrentMemoryContext);
	return running;
}

static void
end_counting(Running *running)
{
	UnregisterSnapshot(running->snapshot);
	hash_destroy(running->of_user);
	pfree(running->of_queue);
}

static int64
running_in_row(const YqRow *row)
{
	return (int64) yq_row_integer(row, 0, 0) + yq_row_integer(row, 1, 0);
}

static void
count_row_of_user(const YqRow *row)
{
	((Count *) row->argument)->sum += running_in_row(row);
}

static UserRunning *
count_user(Running *running, const char *username)
{
	YqBytes		key = yq_bytes_of_string(username);
	UserRunning *entry;
	bool		found;
	Count		count = {.running = running};

	entry = yq_bytes_table_enter(running->of_user, key, CurrentMemoryContext, &found);
	if (found)
		return entry;
	yq_table_scan_index(YQ_APPLICATION_COUNTER, "application_counter_username_idx", running->snapshot,
					   username, NULL, counter_columns, 2, count_row_of_user, &count);
	entry->running = count.sum;
	return entry;
}

static void
count_row_of_queue(const YqRow *row)
{
	const Count *count = row->argument;
	char	   *path = yq_row_text(row, 2);
	const YqQueue *queue = yq_hierarchy_find(count->running->hierarchy, path);

	for (; queue != NULL; queue = queue == count->top ? NULL : queue->parent)
		count->running->of_queue[queue->number] += running_in_row(row);
	pfree(path);
}

static void
forget_counts(Running *running, const YqQueue *queue)
{
	check_stack_depth();
	running->of_queue[queue->number] = 0;
	for (int i = 0; i < queue->child_count; i++)
		forget_counts(running, queue->children[i]);
}

/* Count the running applications of a queue and its descendants. */
static void
count_queues(Running *running, const YqQueue *top)
{
	Count		count = {.running = running, .top = top};

	if (running->of_queue[top->number] >= 0)
		return;
	forget_counts(running, top);
	yq_table_scan_index(YQ_APPLICATION_COUNTER, "application_counter_pkey", running->snapshot,
					   top->path, NULL, counter_columns, lengthof(counter_columns), count_row_of_queue, &count);
	/* descendants' paths lie between "path."  and "path/", because a slash is the character after a dot */
	if (top->child_count > 0)
		yq_table_scan_index(YQ_APPLICATION_COUNTER, "application_counter_pkey", running->snapshot,
						   psprintf("%s.", top->path), psprintf("%s/", top->path),
						   counter_columns, lengthof(counter_columns), count_row_of_queue, &count);
}

/* -- decisions ------------------------------------------------------------- */

static YqParallelDecision
decide_parallel_limit(Running *running, const YqQueue *leaf, const char *username)
{
	YqParallelDecision decision = {.limit = yq_parallel_user_limit(username)};
	List	   *limited = yq_parallel_limited_queues(leaf);

	if (decision.limit != YQ_UNLIMITED)
	{
		decision.running = count_user(running, username)->running;
		if (decision.running >= decision.limit)
			return decision;
	}
	decision.may_run = true;
	if (limited == NIL)
		return decision;
	count_queues(running, linitial(limited));
	/* check the limits from the leaf upwards */
	for (int i = list_length(limited) - 1; i >= 0; i--)
	{
		decision.queue = list_nth(limited, i);
		decision.limit = yq_parallel_queue_limit(decision.queue);
		decision.running = running->of_queue[decision.queue->number];
		decision.may_run = decision.running < decision.limit;
		if (!decision.may_run)
			return decision;
	}
	return decision;
}

YqParallelDecision
yq_parallel_decide(const YqHierarchy *hierarchy, const YqQueue *leaf, const char *username)
{
	Running		running;
	YqParallelDecision decision = {.may_run = true};

	if (yq_parallel_user_limit(username) == YQ_UNLIMITED && yq_parallel_limited_queues(leaf) == NIL)
		return decision;
	running = begin_counting(hierarchy);
	decision = decide_parallel_limit(&running, leaf, username);
	end_counting(&running);
	return decision;
}

/* Add a running application to the counts of its queues and its user. */
static void
note_running(Running *running, const YqQueue *leaf, const char *username)
{
	if (yq_parallel_user_limit(username) != YQ_UNLIMITED)
		count_user(running, username)->running++;
	for (; leaf != NULL; leaf = leaf->parent)
	{
		if (running->of_queue[leaf->number] >= 0)
			running->of_queue[leaf->number]++;
	}
}

/*
 * Return the held applications that may run now, in order.  Each of them is counted as
 * running before the next one is checked.
 */
static List *
promote(Running *running, List *held, int64 most)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, held)
	{
		YqApplication *application = lfirst(cell);
		const YqQueue *leaf = yq_hierarchy_find(running->hierarchy, application->queue);

		CHECK_FOR_INTERRUPTS();
		if (list_length(result) >= most)
			break;
		if (leaf == NULL || !decide_parallel_limit(running, leaf, application->username).may_run)
			continue;
		note_running(running, leaf, application->username);
		result = lappend(result, application);
	}
	return result;
}

/* Merge two sorted lists into a sorted list without duplicates. */
static List *
merge(List *a, List *b)
{
	List	   *result = NIL;
	List	   *both;
	ListCell   *cell;

	if (a == NIL || b == NIL)
		return a == NIL ? b : a;
	both = list_concat(a, b);
	list_sort(both, yq_application_compare_submissions);
	foreach(cell, both)
	{
		if (result == NIL || yq_application_compare_submissions(cell, list_last_cell(result)) != 0)
			result = lappend(result, lfirst(cell));
	}
	return result;
}

List *
yq_parallel_candidates(const YqHierarchy *hierarchy, const YqQueue *leaf, const char *username)
{
	List	   *limited = yq_parallel_limited_queues(leaf);
	List	   *of_queues = NIL;
	List	   *of_user = NIL;

	if (limited != NIL)
		of_queues = yq_applications_held_below(hierarchy, ((const YqQueue *) linitial(limited))->path);
	if (yq_parallel_user_limit(username) != YQ_UNLIMITED)
		of_user = yq_applications_held_of_user(hierarchy, username);
	return merge(of_queues, of_user);
}

/* Does the queue's own limit allow another running application? */
static bool
has_room(const Running *running, const YqQueue *queue)
{
	return running->of_queue[queue->number] < yq_parallel_queue_limit(queue);
}

/*
 * Return the number of leaves below a queue that still have room.  A leaf has room if
 * no queue from "queue" down to the leaf has reached its limit.
 */
static int64
leaves_with_room(const Running *running, const YqQueue *queue)
{
	int64		result = 0;

	check_stack_depth();
	if (!has_room(running, queue))
		return 0;
	if (queue->kind == YQ_QUEUE_LEAF)
		return 1;
	for (int i = 0; i < queue->child_count; i++)
		result += leaves_with_room(running, queue->children[i]);
	return result;
}

/*
 * Find the topmost queue that was full before one of its applications ended.  Its count
 * is now one below its limit.  Returns NULL if there is no such queue.
 */
static const YqQueue *
find_queue_that_was_full(const Running *running, List *limited)
{
	ListCell   *cell;

	foreach(cell, limited)
	{
		const YqQueue *queue = lfirst(cell);

		if (running->of_queue[queue->number] == (int64) yq_parallel_queue_limit(queue) - 1)
			return queue;
	}
	return NULL;
}

List *
yq_parallel_after_end(const YqHierarchy *hierarchy, const YqQueue *leaf, const char *username)
{
	List	   *limited = yq_parallel_limited_queues(leaf);
	int			user_limit = yq_parallel_user_limit(username);
	const YqQueue *was_full = NULL;
	List	   *of_queues = NIL;
	List	   *of_user = NIL;
	List	   *result;
	int64		lists = 0;		/* upper bound of the number of applications that become runnable */
	Running		running;

	if (limited == NIL && user_limit == YQ_UNLIMITED)
		return NIL;
	running = begin_counting(hierarchy);
	if (limited != NIL)
	{
		count_queues(&running, linitial(limited));
		was_full = find_queue_that_was_full(&running, limited);
	}
	if (was_full != NULL)
	{
		of_queues = yq_applications_held_below(hierarchy, was_full->path);
		lists = leaves_with_room(&running, was_full);
	}
	if (user_limit != YQ_UNLIMITED && count_user(&running, username)->running == (int64) user_limit - 1)
	{
		of_user = yq_applications_held_of_user(hierarchy, username);
		lists++;
	}
	result = promote(&running, merge(of_queues, of_user), lists);
	end_counting(&running);
	return result;
}

List *
yq_parallel_after_refresh(const YqHierarchy *hierarchy)
{
	List	   *held = yq_applications_held_below(hierarchy, "root");
	List	   *result;
	Running		running;

	if (held == NIL)
		return NIL;
	running = begin_counting(hierarchy);
	result = promote(&running, held, list_length(held));
	end_counting(&running);
	return result;
}
