/*-------------------------------------------------------------------------
 *
 * bytes_table.h
 *	  Byte strings and values of variable length: comparison, copies, and use as keys of
 *	  hash tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_BYTES_TABLE_H
#define YQ_BYTES_TABLE_H

#include "lib/stringinfo.h"
#include "utils/hsearch.h"

/* -- varlena ------------------------------------------------------------------- */

/*
 * Values of variable length that are compared and copied byte for byte.
 *
 * Equal values have equal bytes, because texts are compared as in collation "C".  Values are
 * neither compressed nor stored out of line.
 */

/* Return a copy in the current memory context, or NULL if the value is NULL. */
extern void *yq_varlena_copy(const void *value);

/* Tell whether two values are equal.  Two NULLs are equal. */
static inline bool
yq_varlena_equal(const void *a, const void *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

/* Tell whether a text equals a string.  Two NULLs are equal. */
static inline bool
yq_varlena_is(const text *value, const char *string)
{
	if (value == NULL || string == NULL)
		return value == NULL && string == NULL;
	return VARSIZE_ANY_EXHDR(value) == strlen(string) && memcmp(VARDATA_ANY(value), string, strlen(string)) == 0;
}

/* Put a value, or a null if the value is NULL, into a column of a row that will be written. */
extern void yq_varlena_put(Datum *values, bool *nulls, int column, const void *value);

/* Compare two texts: the result is negative, zero or positive. */
extern int	yq_varlena_compare(const text *a, const text *b);

/* -- bytes table --------------------------------------------------------------- */

/*
 * Every entry of a table begins with its key, a YqBytes.  When an entry is added, the table copies
 * the key into its own memory context.  A search never copies its key.
 */

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

/*
 * Return the bytes of a text or of another varlena that is not compressed.  If the value is NULL,
 * "data" is NULL.
 */
static inline YqBytes
yq_bytes_of_varlena(const void *value)
{
	return value == NULL ? (YqBytes) {NULL, 0} : (YqBytes) {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)};
}

/* Make a table in a memory context; deleting the context frees the table. */
extern HTAB *yq_bytes_table_create(const char *name, Size entry_size,
								   MemoryContext context);

/* Make a table for a known number of entries, which the caller then adds. */
extern HTAB *yq_bytes_table_create_for(const char *name, Size entry_size, int entries,
									   MemoryContext context);

/* Return the entry of a key, or NULL if the table does not contain the key. */
extern void *yq_bytes_table_find(HTAB *table, YqBytes key);

/* Return the entry of a key; if it is missing, add it first. *found tells whether the entry existed before. */
extern void *yq_bytes_table_enter(HTAB *table, YqBytes key, MemoryContext context,
								  bool *found);

/*
 * Add an entry without copying its key.  The caller keeps the bytes of the key in place as long as
 * the table exists.
 */
extern void *yq_bytes_table_enter_kept(HTAB *table, YqBytes key, bool *found);

/*
 * Remove the entry of a key, which must exist.  If the key was added without copying it, the
 * caller may then free its bytes.
 */
extern void yq_bytes_table_remove(HTAB *table, YqBytes key);

/*
 * Append one part of a composite key, preceded by its length.  The length makes sure that different
 * lists of parts never have the same key.  "data" may be NULL; such a part differs from an empty
 * part.
 */
extern void yq_bytes_append_part(StringInfo key, const void *data, Size length);

#endif							/* YQ_BYTES_TABLE_H */
