/*-------------------------------------------------------------------------
 *
 * rest_notes.h
 *	  What a walk through a leaf has come upon, on which rests depend (rest.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REST_NOTES_H
#define YQ_REST_NOTES_H

#include "scheduler/decide/rest_tree.h"

/* What a walk through a leaf has come upon; amounts for as many types as there are. */
typedef struct YqRestNotes
{
	YqSchedulingMode mode;
	bool		is_of_limits;	/* another limit may have another result, lower or higher */
	bool		is_here;		/* it holds for this node alone */
	int64		most;			/* walks that find the same */
	int64		most_of_key;	/* the same, of the key at hand */
	bool		needs_headroom; /* something was offered, below limits */
	int64		needed[YQ_MAX_RESOURCE_TYPES];	/* headroom that was enough */
	bool		has_room;		/* room is set */
	int64		room[YQ_MAX_RESOURCE_TYPES];	/* more would be assigned where as much is free */
	bool		is_too_small;	/* the node; too_large is set */
	int64		too_large[YQ_MAX_RESOURCE_TYPES];	/* more might be reserved where as much is offered */
	YqOfferedKey *keys;
	int			key_count;
	int			key_room;
	struct YqRestLeaf *rests;			/* applications that rest have been gone by; NULL: all were looked at */
	const YqClusterApplication *before; /* that one, if it is not NULL */
} YqRestNotes;

/* Nothing is noted yet of a walk of that mode. */
extern void yq_rest_notes_clear(const YqCluster *cluster, YqRestNotes *notes, YqSchedulingMode mode);

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

/* Keep the keys that were noted, in place of others: an array in the context, with as many, and room for them. */
extern void yq_rest_copy_keys(const YqRestNotes *notes, MemoryContext context, YqOfferedKey **keys, int *key_count,
							  int *key_room);

/* Add what was noted of one application to what was of others. */
extern void yq_rest_add_notes(const YqCluster *cluster, YqRestNotes *notes, const YqRestNotes *of_application);

#endif							/* YQ_REST_NOTES_H */
