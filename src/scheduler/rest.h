/*-------------------------------------------------------------------------
 *
 * rest.h
 *	  Queues that need not be walked again, because nothing would be found again.
 *
 * A walk through a whole queue that ends with nothing shows what that depends on:
 * on the applications of the queue, which only a decision of theirs changes; on
 * nodes and racks that they ask for by name; on how many more nodes are let go by
 * for a closer one, or for one of the default partition; on how large the node is, or how
 * little is free on it, where all that is wanted is reserved already; and on how much the
 * queue may still use, which may be so little that the rest of it is kept for the queue.
 * As long as all this holds the queue rests: the next walk passes it by and counts that
 * it came.  What a walk would have counted of request keys is added to them when the rest
 * ends, so every figure is as if there were no rests.
 *
 * Walks for a node's own label and those for the default partition on a node that is
 * shared have rests of their own.  Rests last for one pass at most.  Nothing rests while
 * a pass explains.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REST_H
#define YQ_REST_H

#include "scheduler/limits.h"

/* A request key that a walk has offered a node. */
typedef struct YqOfferedKey
{
	YqRequestKey *key;
	bool		counts_opportunity; /* and not only as missed for the default partition */
} YqOfferedKey;

/* What a walk through a leaf has come upon; amounts for as many types as there are. */
typedef struct YqRestNotes
{
	YqSchedulingMode mode;
	bool		is_of_limits;	/* another limit may have another result, lower or higher */
	bool		is_here;		/* it holds for this node alone */
	int64		most;			/* walks that find the same */
	int64		most_of_key;	/* the same, of the key at hand */
	int64		needed[YQ_MAX_RESOURCE_TYPES];	/* headroom that was enough */
	bool		has_room;		/* room is set */
	int64		room[YQ_MAX_RESOURCE_TYPES];	/* more would be assigned where as much is free */
	bool		is_too_small;	/* the node; too_large is set */
	int64		too_large[YQ_MAX_RESOURCE_TYPES];	/* more might be reserved where as much is offered */
	YqOfferedKey *keys;
	int			key_count;
	int			key_room;
} YqRestNotes;

/* A pass over so many nodes begins; it is over when what rests has been counted. */
extern void yq_rest_begin_pass(YqCluster *cluster, int node_count);
extern void yq_rest_end_pass(YqCluster *cluster);

/* The next walks are for that node. */
extern void yq_rest_set_node(YqCluster *cluster, YqClusterNode *node);

/*
 * Does the queue rest on the node, with so much left to it by its parent?  Then it has
 * been counted that a walk came by, and *kept is what is kept for the queue: NULL for
 * nothing, if it is not a limit that stops it.
 */
extern bool yq_rest_lasts(const YqCluster *cluster, YqClusterQueue *queue, const YqClusterNode *node,
						  YqSchedulingMode mode, const int64 *left, const int64 **kept);

/* A walk goes into the queue, after those above it. */
extern void yq_rest_interrupt(const YqCluster *cluster, YqClusterQueue *queue, const YqClusterNode *node,
							  YqSchedulingMode mode);

/* Something in the queue is about to change: it and all above it rest no more. */
extern void yq_rest_end(const YqCluster *cluster, YqClusterQueue *queue);

/* Notes of a walk through a leaf, without anything in them; NULL: none are to be taken. */
extern YqRestNotes *yq_rest_notes(const YqCluster *cluster, YqSchedulingMode mode);

/* What the allocator has come upon; nothing happens when notes are NULL. */
extern void yq_rest_note_key(YqRestNotes *notes, const YqCluster *cluster, YqRequestKey *key,
							 const int64 *needed);
extern void yq_rest_note_delay(YqRestNotes *notes, int64 walks);
extern void yq_rest_note_opportunity(YqRestNotes *notes);
extern void yq_rest_note_default_first(YqRestNotes *notes, int64 walks);
extern void yq_rest_note_here(YqRestNotes *notes);
extern void yq_rest_note_room(YqRestNotes *notes, const YqCluster *cluster, const int64 *room);
extern void yq_rest_note_too_large(YqRestNotes *notes, const YqCluster *cluster, const int64 *amounts);
extern void yq_rest_note_limits(YqRestNotes *notes);

/*
 * Is it of no consequence what a key asks for in a rack?  So it is where the key may
 * be anywhere only in name, and its place in the rack is not due: it does not wait.
 */
extern bool yq_rest_rack_is_idle(const YqCluster *cluster, const YqRequestKey *key, const YqAsk *ask);

/*
 * A walk has found nothing in a leaf, or in a parent all of whose children rest now, to
 * which so much was left.  kept as for yq_rest_lasts().
 */
extern void yq_rest_begin_leaf(const YqCluster *cluster, YqClusterQueue *leaf, const YqClusterNode *node,
							   const YqRestNotes *notes, const int64 *left, const int64 *kept);
extern void yq_rest_begin_parent(const YqCluster *cluster, YqClusterQueue *parent, const YqClusterNode *node,
								 YqSchedulingMode mode, const int64 *left, const int64 *kept);

/*
 * The queue, to which so much is left, may use no more.  Has it reserved something that
 * might be given up?
 */
extern void yq_rest_begin_stopped(const YqCluster *cluster, YqClusterQueue *queue, const YqClusterNode *node,
								  YqSchedulingMode mode, const int64 *left, bool gives_up);

#endif							/* YQ_REST_H */
