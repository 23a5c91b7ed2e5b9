/*-------------------------------------------------------------------------
 *
 * bytes_table.c
 *	  Byte strings and values of variable length: comparison, copies, and use as keys of
 *	  hash tables.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/bytes_table.h"
#include "common/hashfn.h"

/* -- varlena ------------------------------------------------------------------- */




void *
yq_varlena_copy(const void *value)
{
	void	   *copy;

	if (value == NULL)
		return NULL;
	copy = palloc(VARSIZE_ANY(value));
	memcpy(copy, value, VARSIZE_ANY(value));
	return copy;
}

void
yq_varlena_put(Datum *values, bool *nulls, int column, const void *value)
{
	values[column] = PointerGetDatum(value);
	nulls[column] = (value == NULL);
}

int
yq_varlena_compare(const text *a, const text *b)
{
	int			a_length = VARSIZE_ANY_EXHDR(a);
	int			b_length = VARSIZE_ANY_EXHDR(b);
	int			order = memcmp(VARDATA_ANY(a), VARDATA_ANY(b), Min(a_length, b_length));

	return order != 0 ? order : a_length - b_length;
}

/* -- bytes table --------------------------------------------------------------- */

static uint32
hash_key(const void *key, Size keysize)
{
	const YqBytes *bytes = key;

	return hash_bytes((const unsigned char *) bytes->data, (int) bytes->length);
}

static int
match_keys(const void *a, const void *b, Size keysize)
{
	const YqBytes *left = a;
	const YqBytes *right = b;

	if (left->length != right->length)
		return 1;
	return memcmp(left->data, right->data, left->length);
}

HTAB *
yq_bytes_table_create(const char *name, Size entry_size, MemoryContext context)
{
	return yq_bytes_table_create_for(name, entry_size, 256, context);
}

HTAB *
yq_bytes_table_create_for(const char *name, Size entry_size, int entries, MemoryContext context)
{
	HASHCTL		control = {0};

	control.keysize = sizeof(YqBytes);
	control.entrysize = entry_size;
	control.hash = hash_key;
	control.match = match_keys;
	control.hcxt = context;
	return hash_create(name, Max(entries, 1), &control,
					   HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
}

void *
yq_bytes_table_find(HTAB *table, YqBytes key)
{
	return hash_search(table, &key, HASH_FIND, NULL);
}

void *
yq_bytes_table_enter(HTAB *table, YqBytes key, MemoryContext context, bool *found)
{
	void	   *entry = hash_search(table, &key, HASH_FIND, NULL);
	char	   *copy;

	*found = (entry != NULL);
	if (*found)
		return entry;

	copy = MemoryContextAlloc(context, Max(key.length, 1));
	memcpy(copy, key.data, key.length);
	key.data = copy;
	return hash_search(table, &key, HASH_ENTER, NULL);
}

void *
yq_bytes_table_enter_kept(HTAB *table, YqBytes key, bool *found)
{
	return hash_search(table, &key, HASH_ENTER, found);
}

void
yq_bytes_table_remove(HTAB *table, YqBytes key)
{
	(void) hash_search(table, &key, HASH_REMOVE, NULL);
}

void
yq_bytes_append_part(StringInfo key, const void *data, Size length)
{
	int32		prefix = data == NULL ? -1 : (int32) length;

	enlargeStringInfo(key, (int) (sizeof(prefix) + length));
	memcpy(key->data + key->len, &prefix, sizeof(prefix));
	key->len += sizeof(prefix);
	if (data != NULL)
	{
		memcpy(key->data + key->len, data, length);
		key->len += (int) length;
	}
}
