/*-------------------------------------------------------------------------
 *
 * preemption_state.c
 *	  Creates the state of a round of preemption, and adds to it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/application.h"
#include "common/int.h"
#include "preemption/preemption_state.h"
#include "utils/memutils.h"

#define SECOND INT64CONST(1000000)

/* Make room for one more element in an array of the state.  "room" is the number of elements that fit. */
static void *
grow_array(const YqPreemption *state, void *array, int count, int *room, Size size)
{
	if (count < *room)
		return array;
	*room = *room == 0 ? 4 : *room * 2;
	return array == NULL ? MemoryContextAllocHuge(state->context, *room * size) : repalloc_huge(array, *room * size);
}

#define MAKE_ROOM(state, array, count, room) \
	((array) = grow_array((state), (array), (count), &(room), sizeof(*(array))))

static void *
make(const YqPreemption *state, Size size)
{
	return MemoryContextAllocZero(state->context, size);
}

const char *
yq_preemption_selector_name(YqPreemptionSelector selector)
{
	switch (selector)
	{
		case YQ_SELECTOR_QUEUE_PRIORITY:
			return "queue_priority";
		case YQ_SELECTOR_RESERVED:
			return "reserved";
		case YQ_SELECTOR_FIFO:
			return "fifo";
		case YQ_SELECTOR_FIFO_BALANCE:
			return "fifo_balance";
		case YQ_SELECTOR_INTRA_QUEUE:
			return "intra_queue";
		case YQ_SELECTORS:
			break;
	}
	pg_unreachable();
}

int64 *
yq_preemption_amounts(const YqPreemption *state)
{
	return make(state, state->calculator->types * sizeof(int64));
}

int64 *
yq_preemption_copy(const YqPreemption *state, const int64 *amounts)
{
	int64	   *result = MemoryContextAlloc(state->context, state->calculator->types * sizeof(int64));

	memcpy(result, amounts, state->calculator->types * sizeof(int64));
	return result;
}

void
yq_preemption_set_defaults(YqPreemptionSettings *settings)
{
	memset(settings, 0, sizeof(YqPreemptionSettings));
	settings->maximum_wait = 15 * SECOND;
	settings->total_per_round = 0.1f;
	settings->ignored_over_capacity = 0.1;
	settings->natural_termination_factor = 0.2;
	settings->balance_wait = 300 * SECOND;
	settings->intra_queue_threshold = 0.5f;
	settings->intra_queue_limit = 0.2f;
	settings->intra_queue_order = YQ_USERLIMIT_FIRST;
	settings->intra_queue_is_conservative = true;
	settings->reservation_delay = 60 * SECOND;
	settings->candidate_order = YQ_NEWEST;
}

YqPreemption *
yq_preemption_create(const YqCalculator *calculator, int label_count)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "yquota preemption", ALLOCSET_DEFAULT_SIZES);
	YqPreemption *state = MemoryContextAllocZero(context, sizeof(YqPreemption));

	state->context = context;
	state->calculator = calculator;
	state->label_count = label_count;
	state->totals = make(state, label_count * sizeof(int64 *));
	for (int label = 0; label < label_count; label++)
		state->totals[label] = yq_preemption_amounts(state);
	state->cluster = yq_preemption_amounts(state);
	state->minimum_allocation = yq_preemption_amounts(state);
	state->allowed = yq_preemption_amounts(state);
	state->underserved = make(state, label_count * sizeof(YqPreemptionQueue **));
	state->underserved_count = make(state, label_count * sizeof(int));
	yq_preemption_set_defaults(&state->settings);
	return state;
}

static void
set_queue_label(const YqPreemption *state, YqPreemptionQueueLabel *label)
{
	label->guaranteed = yq_preemption_amounts(state);
	label->maximum = yq_preemption_amounts(state);
	label->used = yq_preemption_amounts(state);
	label->reserved = yq_preemption_amounts(state);
	label->killable = yq_preemption_amounts(state);
	label->pending = yq_preemption_amounts(state);
	label->pending_without_reserved = yq_preemption_amounts(state);
	label->untouchable = yq_preemption_amounts(state);
	label->preemptable = yq_preemption_amounts(state);
	label->ideal = yq_preemption_amounts(state);
	label->to_be_preempted = yq_preemption_amounts(state);
	label->obtain = yq_preemption_amounts(state);
}

YqPreemptionQueue *
yq_preemption_add_queue(YqPreemption *state, YqPreemptionQueue *parent, const char *path, bool is_leaf)
{
	YqPreemptionQueue *queue = make(state, sizeof(YqPreemptionQueue));

	queue->path = path;
	queue->number = state->queue_count;
	queue->parent = parent;
	queue->is_leaf = is_leaf;
	if (parent != NULL)
		parent->child_count++;
	queue->labels = make(state, state->label_count * sizeof(YqPreemptionQueueLabel));
	for (int label = 0; label < state->label_count; label++)
		set_queue_label(state, &queue->labels[label]);
	if (is_leaf)
		queue->capacity = yq_preemption_amounts(state);
	MAKE_ROOM(state, state->queues, state->queue_count, state->queue_room);
	state->queues[state->queue_count++] = queue;
	return queue;
}

YqPreemptionNode *
yq_preemption_add_node(YqPreemption *state, const char *name, int label)
{
	YqPreemptionNode *node = make(state, sizeof(YqPreemptionNode));

	node->name = name;
	node->label = label;
	node->total = yq_preemption_amounts(state);
	node->allocated = yq_preemption_amounts(state);
	MAKE_ROOM(state, state->nodes, state->node_count, state->node_room);
	state->nodes[state->node_count++] = node;
	return node;
}

YqPreemptionUser *
yq_preemption_add_user(YqPreemption *state, YqPreemptionQueue *leaf, const char *username)
{
	YqPreemptionUser *user = make(state, sizeof(YqPreemptionUser));

	user->username = username;
	user->leaf = leaf;
	user->labels = make(state, state->label_count * sizeof(YqPreemptionUserLabel));
	for (int label = 0; label < state->label_count; label++)
	{
		user->labels[label].used = yq_preemption_amounts(state);
		user->labels[label].limit = yq_preemption_amounts(state);
	}
	MAKE_ROOM(state, leaf->users, leaf->user_count, leaf->user_room);
	leaf->users[leaf->user_count++] = user;
	return user;
}

YqPreemptionApplication *
yq_preemption_add_application(YqPreemption *state, YqPreemptionUser *user, const char *application_id, int32 priority)
{
	YqPreemptionApplication *application = make(state, sizeof(YqPreemptionApplication));
	YqPreemptionQueue *leaf = user->leaf;

	application->application_id = application_id;
	application->leaf = leaf;
	application->user = user;
	application->priority = priority;
	application->is_active = true;
	application->labels = make(state, state->label_count * sizeof(YqPreemptionApplicationLabel));
	for (int label = 0; label < state->label_count; label++)
	{
		application->labels[label].used = yq_preemption_amounts(state);
		application->labels[label].master_used = yq_preemption_amounts(state);
		application->labels[label].pending = yq_preemption_amounts(state);
	}
	application->order = leaf->application_count;
	MAKE_ROOM(state, leaf->applications, leaf->application_count, leaf->application_room);
	leaf->applications[leaf->application_count++] = application;
	return application;
}

YqPreemptionContainer *
yq_preemption_add_container(YqPreemption *state, YqPreemptionApplication *application, YqPreemptionNode *node,
							const char *container_id, int64 number, const int64 *amounts, bool is_reserved)
{
	YqPreemptionContainer *container = make(state, sizeof(YqPreemptionContainer));

	container->container_id = container_id;
	container->number = number;
	container->application = application;
	container->node = node;
	container->amounts = amounts;
	container->is_reserved = is_reserved;
	container->marked_at = DT_NOBEGIN;
	MAKE_ROOM(state, application->containers, application->container_count, application->container_room);
	application->containers[application->container_count++] = container;
	application->is_sorted = false;
	if (is_reserved)
		node->reservation = container;
	else
	{
		MAKE_ROOM(state, node->containers, node->container_count, node->container_room);
		node->containers[node->container_count++] = container;
	}
	return container;
}

/* Set the children of each queue, in the order of the queues. */
static void
set_children(YqPreemption *state)
{
	for (int i = 0; i < state->queue_count; i++)
	{
		YqPreemptionQueue *queue = state->queues[i];

		queue->children = make(state, Max(queue->child_count, 1) * sizeof(YqPreemptionQueue *));
		queue->child_count = 0;
		if (queue->parent != NULL)
			queue->parent->children[queue->parent->child_count++] = queue;
	}
}

void
yq_preemption_prepare(YqPreemption *state)
{
	set_children(state);
	for (int i = state->queue_count - 1; i > 0; i--)
	{
		for (int label = 0; label < state->label_count; label++)
		{
			YqPreemptionQueueLabel *child = &state->queues[i]->labels[label];
			YqPreemptionQueueLabel *parent = &state->queues[i]->parent->labels[label];

			yq_amounts_add(state->calculator, parent->pending, child->pending);
			yq_amounts_add(state->calculator, parent->pending_without_reserved, child->pending_without_reserved);
		}
	}
	for (int label = 0; label < state->label_count; label++)
		state->underserved[label] = make(state, Max(state->queue_count, 1) * sizeof(YqPreemptionQueue *));
}

void
yq_preemption_complete_leaf(YqPreemption *state, YqPreemptionQueue *leaf)
{
	if (leaf->is_complete)
		return;
	if (state->complete_leaf != NULL)
		state->complete_leaf(state, leaf);
	leaf->is_complete = true;
}

static int
compare_nodes(const void *a, const void *b)
{
	return strcmp((*(YqPreemptionNode *const *) a)->name, (*(YqPreemptionNode *const *) b)->name);
}

void
yq_preemption_complete_all(YqPreemption *state)
{
	if (state->is_complete)
		return;
	if (state->complete_all != NULL)
		state->complete_all(state);
	for (int i = 0; i < state->queue_count; i++)
		state->queues[i]->is_complete = true;
	if (state->node_count > 0)
		qsort(state->nodes, state->node_count, sizeof(YqPreemptionNode *), compare_nodes);
	state->is_complete = true;
}

int64
yq_preemption_wait(const YqPreemption *state, YqPreemptionSelector selector)
{
	if (selector == YQ_SELECTOR_FIFO_BALANCE && state->settings.balance_wait > 0)
		return state->settings.balance_wait;
	return state->settings.maximum_wait;
}

/* Subtract twice a wait from a time.  The result of an overflow is DT_NOBEGIN. */
static TimestampTz
subtract_two_waits(TimestampTz time, int64 wait)
{
	TimestampTz result;

	if (pg_sub_s64_overflow(time, wait, &result) || pg_sub_s64_overflow(result, wait, &result))
		return DT_NOBEGIN;
	return result;
}

TimestampTz
yq_preemption_forget_before(const YqPreemption *state, YqPreemptionSelector selector)
{
	const YqPreemptionSettings *settings = &state->settings;
	int64		wait = settings->maximum_wait;

	if (settings->observes_only)
		return DT_NOBEGIN;
	if (settings->keeps_balance_marks && selector == YQ_SELECTOR_FIFO_BALANCE)
		wait = Max(wait, settings->balance_wait);
	return subtract_two_waits(state->now, wait);
}

int
yq_preemption_compare_ids(const YqPreemptionContainer *a, const YqPreemptionContainer *b)
{
	if (a->application != b->application)
		return yq_application_id_compare(a->application->application_id, b->application->application_id);
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return strcmp(a->container_id, b->container_id);
}

/* Return a copy of the figures.  A selector copies them once per leaf and label. */
const YqPreemptionFigures *
yq_preemption_figures(YqPreemption *state, const YqPreemptionContainer *container)
{
	const YqPreemptionQueue *leaf = container->application->leaf;
	YqPreemptionQueueLabel *figured = &leaf->labels[container->node->label];
	YqPreemptionFigures *figures = figured->decided_by;

	if (figures != NULL && figures->selector == state->selector)
		return figures;
	figures = make(state, sizeof(YqPreemptionFigures));
	figures->selector = state->selector;
	figures->leaf = leaf;
	figures->label = container->node->label;
	figures->used = figured->used;
	figures->guaranteed = figured->guaranteed;
	figures->ideal = yq_preemption_copy(state, figured->ideal);
	figures->to_be_preempted = yq_preemption_copy(state, figured->to_be_preempted);
	figures->obtain = yq_preemption_copy(state, figured->obtain);
	figured->decided_by = figures;
	return figures;
}

void
yq_preemption_select(YqPreemption *state, YqPreemptionContainer *container)
{
	YqPreemptionSelection *selection;

	MAKE_ROOM(state, state->selections, state->selection_count, state->selection_room);
	selection = &state->selections[state->selection_count++];
	selection->selector = state->selector;
	selection->container = container;
	selection->figures = yq_preemption_figures(state, container);
	container->is_selected = true;
}

YqPreemptionOutcome *
yq_preemption_add_outcome(YqPreemption *state, YqPreemptionOutcomeKind kind, YqPreemptionContainer *container)
{
	YqPreemptionOutcome *outcome;

	MAKE_ROOM(state, state->outcomes, state->outcome_count, state->outcome_room);
	outcome = &state->outcomes[state->outcome_count++];
	memset(outcome, 0, sizeof(YqPreemptionOutcome));
	outcome->kind = kind;
	outcome->selector = state->selector;
	outcome->container = container;
	outcome->marked_at = outcome->kill_at = DT_NOBEGIN;
	return outcome;
}
