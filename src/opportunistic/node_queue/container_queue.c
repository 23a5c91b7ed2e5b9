/*-------------------------------------------------------------------------
 *
 * container_queue.c
 *	  Decides which containers of a node start, wait, are paused or are killed.
 *
 * Names of Hadoop's methods in comments refer to ContainerScheduler in
 * hadoop-yarn-server-nodemanager 3.4.1.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "opportunistic/node_queue/container_queue.h"
#include "opportunistic/node_queue/node_container.h"

static bool
has_memory(const YqContainerQueue *queue, YqNodeAmounts amounts)
{
	return queue->used.memory + amounts.memory <= queue->total.memory &&
		(!queue->settings.checks_vmem ||
		 queue->used.virtual_memory + amounts.virtual_memory <= queue->total.virtual_memory);
}

static bool
has_room(const YqContainerQueue *queue, YqNodeAmounts amounts)
{
	return has_memory(queue, amounts) && queue->used.vcores + amounts.vcores <= queue->total.vcores;
}

/* -- lists ------------------------------------------------------------------- */

static bool
is_being_freed(const YqNodeContainer *container)
{
	return container->state == YQ_CONTAINER_PAUSING || container->state == YQ_CONTAINER_KILLING;
}

static bool
holds_room(const YqNodeContainer *container)
{
	return container->state == YQ_CONTAINER_RUNNING || is_being_freed(container);
}

static void
enqueue(YqContainerQueue *queue, YqNodeContainer *container)
{
	if (container->is_guaranteed)
	{
		dlist_push_tail(&queue->guaranteed, &container->node);
		queue->guaranteed_count++;
	}
	else
	{
		dlist_push_tail(&queue->opportunistic, &container->node);
		queue->opportunistic_count++;
	}
}

static void
dequeue(YqContainerQueue *queue, YqNodeContainer *container)
{
	dlist_delete(&container->node);
	if (container->is_guaranteed)
		queue->guaranteed_count--;
	else
		queue->opportunistic_count--;
}

static void
begin_running(YqContainerQueue *queue, YqNodeContainer *container)
{
	dlist_push_tail(&queue->running, &container->node);
	queue->running_count++;
	yq_node_amounts_add(&queue->used, yq_node_amounts_of(queue, container), 1);
}

static void
end_running(YqContainerQueue *queue, YqNodeContainer *container)
{
	dlist_delete(&container->node);
	queue->running_count--;
	yq_node_amounts_add(&queue->used, yq_node_amounts_of(queue, container), -1);
	if (is_being_freed(container))
		yq_node_amounts_add(&queue->being_freed, yq_node_amounts_of(queue, container), -1);
}

static void
decide(YqContainerQueue *queue, YqQueueDecisionKind kind, YqNodeContainer *container, const YqNodeContainer *made_room_for)
{
	YqQueueDecision *decision = palloc(sizeof(YqQueueDecision));

	*decision = (YqQueueDecision) {kind, container, made_room_for};
	queue->decisions = lappend(queue->decisions, decision);
}

/* -- room by the measured use --------------------------------------------------- */

YqRunningSums
yq_container_queue_running(const YqContainerQueue *queue)
{
	YqRunningSums sums = {{0}, {0}, {0}};
	dlist_iter	iter;

	dlist_foreach(iter, unconstify(dlist_head *, &queue->running))
	{
		const YqNodeContainer *running = dlist_container(YqNodeContainer, node, iter.cur);
		YqNodeAmounts amounts = yq_node_amounts_of(queue, running);

		if (running->is_guaranteed)
			yq_node_amounts_add(&sums.guaranteed, amounts, 1);
		if (running->is_since_report)
			yq_node_amounts_add(running->is_guaranteed ? &sums.guaranteed_since : &sums.opportunistic_since, amounts, 1);
	}
	return sums;
}

YqNodeAmounts
yq_container_queue_free(const YqContainerQueue *queue)
{
	YqNodeAmounts room = queue->total;

	yq_node_amounts_add(&room, queue->used, -1);
	return room;
}

YqNodeAmounts
yq_container_queue_room(const YqContainerQueue *queue)
{
	YqNodeAmounts room = yq_container_queue_free(queue);

	if (queue->measured.is_told)
	{
		YqRunningSums sums = yq_container_queue_running(queue);

		room.memory = Max(room.memory, yq_measured_room(&queue->measured.memory, sums.guaranteed.memory,
														sums.guaranteed_since.memory, sums.opportunistic_since.memory));
		room.vcores = Max(room.vcores, yq_measured_room(&queue->measured.vcores, sums.guaranteed.vcores,
														sums.guaranteed_since.vcores, sums.opportunistic_since.vcores));
	}
	return room;
}

/*
 * Does the node have room for an OPPORTUNISTIC container?  Memory that is allocated but not used is
 * room, too, even beyond the node's size.  The node and its containers have the same ratio of
 * virtual memory to memory, so a check of virtual memory would never allow this.  Virtual memory is
 * therefore checked only if the room is not larger than the unallocated memory.
 */
static bool
has_opportunistic_room(const YqContainerQueue *queue, YqNodeAmounts amounts)
{
	YqNodeAmounts room;

	if (!queue->measured.is_told)
		return has_room(queue, amounts);
	if (yq_measured_has_excess(&queue->measured))
		return false;
	room = yq_container_queue_room(queue);
	return amounts.vcores <= room.vcores &&
		(room.memory > queue->total.memory - queue->used.memory ? amounts.memory <= room.memory : has_memory(queue, amounts));
}

/* -- starting: startPendingContainers() --------------------------------------- */

static void
start(YqContainerQueue *queue, YqNodeContainer *container)
{
	bool		was_paused = container->state == YQ_CONTAINER_PAUSED;

	dequeue(queue, container);
	container->state = YQ_CONTAINER_RUNNING;
	container->is_since_report = true;
	begin_running(queue, container);
	decide(queue, was_paused ? YQ_QUEUE_RESUME : YQ_QUEUE_START, container, NULL);
}

/*
 * Start GUARANTEED containers from the head of the queue, as long as there is room.
 * Returns true if all of them have been started.
 */
static bool
start_guaranteed(YqContainerQueue *queue, bool is_forced)
{
	while (!dlist_is_empty(&queue->guaranteed))
	{
		YqNodeContainer *container = dlist_head_element(YqNodeContainer, node, &queue->guaranteed);

		CHECK_FOR_INTERRUPTS();
		if (!is_forced && !has_room(queue, yq_node_amounts_of(queue, container)))
			return false;
		start(queue, container);
	}
	return true;
}

/*
 * Start waiting OPPORTUNISTIC containers in order.  If a container has no room, later
 * ones do not start either.
 */
static void
start_opportunistic(YqContainerQueue *queue)
{
	while (!dlist_is_empty(&queue->opportunistic))
	{
		YqNodeContainer *container = yq_start_order_first(queue);

		CHECK_FOR_INTERRUPTS();
		if (!has_opportunistic_room(queue, yq_node_amounts_of(queue, container)))
			return;
		start(queue, container);
	}
}

static void
start_waiting(YqContainerQueue *queue, bool is_forced)
{
	if (start_guaranteed(queue, is_forced))
		start_opportunistic(queue);
}

/*
 * Does the node start GUARANTEED containers even if there is no room?  It does so if
 * its queue has no place for OPPORTUNISTIC containers.
 */
static bool
starts_by_force(const YqContainerQueue *queue)
{
	return !queue->settings.is_by_resources && queue->settings.capacity <= 0;
}

void
yq_container_queue_start_pending(YqContainerQueue *queue)
{
	start_waiting(queue, starts_by_force(queue));
}

bool
yq_container_queue_starts_at_once(const YqContainerQueue *queue, const YqNodeContainer *container)
{
	return starts_by_force(queue) ||
		(queue->guaranteed_count == 1 && has_room(queue, yq_node_amounts_of(queue, container)));
}

/* -- making room: reclaimOpportunisticContainerResources() --------------------- */

YqNodeAmounts
yq_container_queue_lacking(const YqContainerQueue *queue, const YqNodeContainer *container)
{
	YqNodeAmounts lacking = queue->used;
	dlist_iter	iter;

	dlist_foreach(iter, unconstify(dlist_head *, &queue->guaranteed))
	{
		const YqNodeContainer *waiting = dlist_container(YqNodeContainer, node, iter.cur);

		yq_node_amounts_add(&lacking, yq_node_amounts_of(queue, waiting), 1);
		if (waiting == container)
			break;
	}
	yq_node_amounts_add(&lacking, queue->being_freed, -1);
	yq_node_amounts_add(&lacking, queue->total, -1);
	return lacking;
}

/*
 * Pause or kill OPPORTUNISTIC containers until no amount is lacking.  If all of them
 * together are not enough, all are paused or killed.  Returns the number of these
 * containers.
 */
static int
free_amounts(YqContainerQueue *queue, YqNodeAmounts lacking, const YqNodeContainer *made_room_for)
{
	YqQueueDecisionKind kind = queue->settings.uses_pause ? YQ_QUEUE_PAUSE : YQ_QUEUE_KILL;
	const List *chosen = yq_kill_order_choose(queue, lacking);
	const ListCell *cell;

	foreach(cell, chosen)
	{
		YqNodeContainer *running = lfirst(cell);

		running->state = kind == YQ_QUEUE_PAUSE ? YQ_CONTAINER_PAUSING : YQ_CONTAINER_KILLING;
		yq_node_amounts_add(&queue->being_freed, yq_node_amounts_of(queue, running), 1);
		decide(queue, kind, running, made_room_for);
	}
	return list_length(chosen);
}

static void
reclaim(YqContainerQueue *queue, const YqNodeContainer *container)
{
	(void) free_amounts(queue, yq_container_queue_lacking(queue, container), container);
}

int
yq_container_queue_preempt(YqContainerQueue *queue)
{
	const YqMeasuredUse *use = &queue->measured;
	YqNodeAmounts lacking = {0};

	if (!yq_measured_has_excess(use))
		return 0;
	lacking.memory = yq_measured_excess(&use->memory) - use->memory.freed;
	lacking.vcores = yq_measured_excess(&use->vcores) - use->vcores.freed;
	yq_node_amounts_add(&lacking, queue->being_freed, -1);
	return free_amounts(queue, lacking, NULL);
}

/* -- operations ---------------------------------------------------------------- */

YqContainerQueue *
yq_container_queue_make(const YqContainerQueueSettings *settings)
{
	YqContainerQueue *queue = palloc0(sizeof(YqContainerQueue));

	queue->settings = *settings;
	queue->total = yq_node_amounts(queue, settings->memory, settings->vcores);
	dlist_init(&queue->guaranteed);
	dlist_init(&queue->opportunistic);
	dlist_init(&queue->running);
	return queue;
}

void
yq_container_queue_add(YqContainerQueue *queue, YqNodeContainer *container)
{
	if (!holds_room(container))
	{
		enqueue(queue, container);
		return;
	}
	begin_running(queue, container);
	if (is_being_freed(container))
		yq_node_amounts_add(&queue->being_freed, yq_node_amounts_of(queue, container), 1);
}

/*
 * Would the arriving container and all waiting containers together fit into the room
 * for OPPORTUNISTIC containers?
 */
static bool
can_queue_by_resources(const YqContainerQueue *queue, const YqNodeContainer *container)
{
	int64		memory = container->memory;
	int64		vcores = container->vcores;
	dlist_iter	iter;

	dlist_foreach(iter, unconstify(dlist_head *, &queue->guaranteed))
	{
		memory += dlist_container(YqNodeContainer, node, iter.cur)->memory;
		vcores += dlist_container(YqNodeContainer, node, iter.cur)->vcores;
	}
	dlist_foreach(iter, unconstify(dlist_head *, &queue->opportunistic))
	{
		memory += dlist_container(YqNodeContainer, node, iter.cur)->memory;
		vcores += dlist_container(YqNodeContainer, node, iter.cur)->vcores;
	}
	return has_opportunistic_room(queue, yq_node_amounts(queue, memory, vcores));
}

static bool
can_queue(const YqContainerQueue *queue, const YqNodeContainer *container)
{
	if (queue->settings.is_by_resources)
		return can_queue_by_resources(queue, container);
	return queue->opportunistic_count < queue->settings.capacity;
}

static void
arrive_guaranteed(YqContainerQueue *queue, YqNodeContainer *container)
{
	enqueue(queue, container);
	yq_container_queue_start_pending(queue);
	if (container->state == YQ_CONTAINER_QUEUED)
		reclaim(queue, container);
}

static void
arrive_opportunistic(YqContainerQueue *queue, YqNodeContainer *container)
{
	start_waiting(queue, false);
	if (!can_queue(queue, container))
	{
		container->state = YQ_CONTAINER_GONE;
		decide(queue, YQ_QUEUE_REJECT, container, NULL);
		return;
	}
	enqueue(queue, container);
	start_waiting(queue, false);
}

void
yq_container_queue_arrive(YqContainerQueue *queue, YqNodeContainer *container)
{
	container->state = YQ_CONTAINER_QUEUED;
	if (container->is_guaranteed)
		arrive_guaranteed(queue, container);
	else
		arrive_opportunistic(queue, container);
}

bool
yq_container_queue_remove(YqContainerQueue *queue, YqNodeContainer *container)
{
	bool		frees_room = holds_room(container);

	if (frees_room)
		end_running(queue, container);
	else
		dequeue(queue, container);
	container->state = YQ_CONTAINER_GONE;
	return frees_room;
}

void
yq_container_queue_complete(YqContainerQueue *queue, YqNodeContainer *container)
{
	if (yq_container_queue_remove(queue, container))
		yq_container_queue_start_pending(queue);
}

void
yq_container_queue_paused(YqContainerQueue *queue, YqNodeContainer *container)
{
	end_running(queue, container);
	container->state = YQ_CONTAINER_PAUSED;
	enqueue(queue, container);
	yq_container_queue_start_pending(queue);
}

void
yq_container_queue_change_type(YqContainerQueue *queue, YqNodeContainer *container, bool is_guaranteed)
{
	bool		waits = !holds_room(container);

	if (waits)
		dequeue(queue, container);
	container->is_guaranteed = is_guaranteed;
	if (waits)
		enqueue(queue, container);
	if (waits && is_guaranteed)
		reclaim(queue, container);
	yq_container_queue_start_pending(queue);
}

void
yq_container_queue_shed(YqContainerQueue *queue, int limit)
{
	dlist_mutable_iter iter;
	int			kept = 0;

	if (limit < 0 || limit >= queue->opportunistic_count)
		return;
	dlist_foreach_modify(iter, &queue->opportunistic)
	{
		YqNodeContainer *waiting = dlist_container(YqNodeContainer, node, iter.cur);

		if (waiting->state == YQ_CONTAINER_PAUSED || kept++ < limit)
			continue;
		dequeue(queue, waiting);
		waiting->state = YQ_CONTAINER_GONE;
		decide(queue, YQ_QUEUE_SHED, waiting, NULL);
	}
}

int
yq_container_queue_capacity(const YqContainerQueue *queue)
{
	return queue->settings.is_by_resources ? 0 : Max(queue->settings.capacity, 0);
}
