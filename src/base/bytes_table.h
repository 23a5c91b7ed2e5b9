/*-------------------------------------------------------------------------
 *
 * bytes_table.h
 *	  Hash tables whose keys are byte strings of any length.
 *
 * An entry begins with a YqBytes.  Keys given to a look-up may live anywhere;
 * a key that is entered is copied into the table's memory context.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_BYTES_TABLE_H
#define YQ_BYTES_TABLE_H

#include "lib/stringinfo.h"
#include "utils/hsearch.h"

typedef struct YqBytes
{
	const char *data;
	Size		length;
} YqBytes;

static inline YqBytes
yq_bytes_of_string(const char *string)
{
	YqBytes		bytes = {string, strlen(string)};

	return bytes;
}

/* Those of a text or another varlena that is not compressed; data is NULL for NULL. */
static inline YqBytes
yq_bytes_of_varlena(const void *value)
{
	return value == NULL ? (YqBytes) {NULL, 0} : (YqBytes) {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)};
}

/* Make a table in a context; it goes when the context does. */
extern HTAB *yq_bytes_table_create(const char *name, Size entry_size,
								   MemoryContext context);

/* The same with room for so many entries, for a table that is filled at once. */
extern HTAB *yq_bytes_table_create_for(const char *name, Size entry_size, int entries,
									   MemoryContext context);

/* The entry of a key, or NULL. */
extern void *yq_bytes_table_find(HTAB *table, YqBytes key);

/* The entry of a key, made when there is none: *found tells. */
extern void *yq_bytes_table_enter(HTAB *table, YqBytes key, MemoryContext context,
								  bool *found);

/* The same with a key that stays where it is as long as the table does. */
extern void *yq_bytes_table_enter_kept(HTAB *table, YqBytes key, bool *found);

/* Remove a key that is there; one that was entered as kept may go afterwards. */
extern void yq_bytes_table_remove(HTAB *table, YqBytes key);

/*
 * Append a part of a composite key, with its length in front so that different
 * parts never make the same key.  "data" may be NULL, which differs from an
 * empty part.
 */
extern void yq_bytes_append_part(StringInfo key, const void *data, Size length);

#endif							/* YQ_BYTES_TABLE_H */
