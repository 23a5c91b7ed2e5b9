/*-------------------------------------------------------------------------
 *
 * intern_table.c
 *	  One copy of each of many equal values.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/intern_table.h"
#include "base/varlena.h"
#include "common/hashfn.h"
#include "utils/memutils.h"

/* Tables begin with so many entries: the names of one container. */
#define FEW_VALUES 4

typedef struct ValueEntry
{
	const struct varlena *value;
	uint32		status;
	uint32		hash;
} ValueEntry;

static inline uint32
hash_value(const struct varlena *value)
{
	return hash_bytes((const unsigned char *) VARDATA_ANY(value),
					  (int) VARSIZE_ANY_EXHDR(value));
}

#define SH_PREFIX yq_intern_table
#define SH_ELEMENT_TYPE ValueEntry
#define SH_KEY_TYPE const struct varlena *
#define SH_KEY value
#define SH_HASH_KEY(table, key) hash_value(key)
#define SH_EQUAL(table, a, b) yq_varlena_equal(a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

const struct varlena *
yq_intern(YqInternTable **table, const void *value, MemoryContext context)
{
	ValueEntry *entry;
	bool		found;

	if (value == NULL)
		return NULL;
	if (*table == NULL)
		*table = yq_intern_table_create(context, FEW_VALUES, NULL);
	entry = yq_intern_table_insert(*table, value, &found);
	if (!found)
	{
		MemoryContext old_context = MemoryContextSwitchTo(context);

		entry->value = yq_varlena_copy(value);
		MemoryContextSwitchTo(old_context);
	}
	return entry->value;
}
