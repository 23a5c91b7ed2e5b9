/*-------------------------------------------------------------------------
 *
 * rest_notes.c
 *	  What a walk through a leaf has come upon.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "scheduler/decide/rest_notes.h"
#include "utils/memutils.h"

void
yq_rest_notes_clear(const YqCluster *cluster, YqRestNotes *notes, YqSchedulingMode mode)
{
	notes->mode = mode;
	notes->is_of_limits = false;
	notes->is_here = false;
	notes->has_room = false;
	notes->is_too_small = false;
	notes->needs_headroom = false;
	notes->most = PG_INT64_MAX;
	notes->key_count = 0;
	notes->rests = NULL;
	memset(notes->needed, 0, sizeof(int64) * cluster->calculator->types);
}

static void
add_key(const YqCluster *cluster, YqRestNotes *notes, YqOfferedKey offered)
{
	if (notes->key_count == notes->key_room)
	{
		notes->key_room = Max(16, notes->key_room * 2);
		notes->keys = notes->keys == NULL ?
			MemoryContextAllocHuge(cluster->context, notes->key_room * sizeof(YqOfferedKey)) :
			repalloc_huge(notes->keys, notes->key_room * sizeof(YqOfferedKey));
	}
	notes->keys[notes->key_count++] = offered;
}

void
yq_rest_copy_keys(const YqRestNotes *notes, MemoryContext context, YqOfferedKey **keys, int *key_count, int *key_room)
{
	if (*key_room < notes->key_count)
	{
		if (*keys != NULL)
			pfree(*keys);
		*key_room = notes->key_count;
		*keys = MemoryContextAllocHuge(context, notes->key_count * sizeof(YqOfferedKey));
	}
	if (notes->key_count > 0)
		memcpy(*keys, notes->keys, notes->key_count * sizeof(YqOfferedKey));
	*key_count = notes->key_count;
}

static void
note_needed(const YqCluster *cluster, YqRestNotes *notes, const int64 *needed)
{
	notes->needs_headroom = true;
	for (int i = 0; i < cluster->calculator->types; i++)
		notes->needed[i] = Max(notes->needed[i], needed[i]);
}

void
yq_rest_note_key(YqRestNotes *notes, const YqCluster *cluster, YqRequestKey *key, const int64 *needed)
{
	if (notes == NULL)
		return;
	note_needed(cluster, notes, needed);
	add_key(cluster, notes, (YqOfferedKey) {.key = key});
	notes->most_of_key = PG_INT64_MAX;
}

void
yq_rest_note_delay(YqRestNotes *notes, int64 walks)
{
	if (notes != NULL)
		notes->most_of_key = Min(notes->most_of_key, walks);
}

void
yq_rest_note_opportunity(YqRestNotes *notes)
{
	if (notes == NULL)
		return;
	notes->keys[notes->key_count - 1].counts_opportunity = true;
	notes->most = Min(notes->most, notes->most_of_key);
}

void
yq_rest_note_default_first(YqRestNotes *notes, int64 walks)
{
	if (notes != NULL)
		notes->most = Min(notes->most, walks);
}

void
yq_rest_note_here(YqRestNotes *notes)
{
	if (notes != NULL)
		notes->is_here = true;
}

void
yq_rest_note_room(YqRestNotes *notes, const YqCluster *cluster, const int64 *room)
{
	if (notes != NULL)
		yq_rest_note_least(cluster, &notes->has_room, notes->room, room);
}

void
yq_rest_note_too_large(YqRestNotes *notes, const YqCluster *cluster, const int64 *amounts)
{
	if (notes != NULL)
		yq_rest_note_least(cluster, &notes->is_too_small, notes->too_large, amounts);
}

void
yq_rest_note_limits(YqRestNotes *notes)
{
	if (notes != NULL)
		notes->is_of_limits = true;
}

void
yq_rest_add_notes(const YqCluster *cluster, YqRestNotes *notes, const YqRestNotes *of_application)
{
	notes->is_of_limits = notes->is_of_limits || of_application->is_of_limits;
	notes->is_here = notes->is_here || of_application->is_here;
	notes->most = Min(notes->most, of_application->most);
	if (of_application->needs_headroom)
		note_needed(cluster, notes, of_application->needed);
	if (of_application->has_room)
		yq_rest_note_room(notes, cluster, of_application->room);
	if (of_application->is_too_small)
		yq_rest_note_too_large(notes, cluster, of_application->too_large);
	for (int i = 0; i < of_application->key_count; i++)
		add_key(cluster, notes, of_application->keys[i]);
}
