/*-------------------------------------------------------------------------
 *
 * catalog.h
 *	  yquota's own tables, and signals of their changes.
 *
 * C code opens tables only through this file, so that the checks are in one place.  A table that a
 * distribution engine has taken over is refused, because it would silently appear empty
 * (docs/design.md 6).
 *
 * OIDs are cached per backend.  One relation cache callback drops them, and signals the
 * caches built on these tables (see yq_catalog_on_change).  The callback reads nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CATALOG_H
#define YQ_CATALOG_H

#include "access/relation.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

#define YQ_TABLE(symbol, in_schema, called, inherited) symbol,
typedef enum YqTable
{
#include "store/table_list.h"
	YQ_TABLE_COUNT
} YqTable;
#undef YQ_TABLE

/*
 * Return the OID of a table, or InvalidOid when the extension is not installed.  If the
 * SQL objects and the library have different versions, raises
 * ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, because amounts and decisions depend on
 * both.
 */
extern Oid	yq_table_oid(YqTable table);

/*
 * Open one of the tables.  Raises ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE when the
 * extension is not installed in this database, and ERRCODE_FEATURE_NOT_SUPPORTED when
 * the table is not a plain local heap.
 */
extern Relation yq_table_open(YqTable table, LOCKMODE lockmode);

/* Tell whether a table has no pages.  No snapshot then sees rows in it.  The check is cheaper than a scan. */
extern bool yq_table_has_no_pages(YqTable table);

/* Return the OID of the named index of an open table.  The name must be a constant string. */
extern Oid	yq_index_oid(YqTable table, const char *index_name);

/*
 * Return the attribute number of a named column.  A missing column is an error: the library and
 * the SQL objects have different versions.
 */
extern AttrNumber yq_column(Relation relation, const char *name);

/*
 * Take a snapshot of the newest committed state, at every isolation level.  Charging reads
 * timelines and the ledger with it (docs/design.md 2).  The snapshot is registered; the caller
 * releases it with UnregisterSnapshot().
 */
extern Snapshot yq_latest_snapshot(void);

/*
 * Register "flag".  It is set to false whenever the relation cache entry of the table changes, and
 * when the whole cache is reset.  Callers register a flag once per backend.
 */
extern void yq_catalog_on_change(YqTable table, bool *flag);

/*
 * Register "flag".  It is set to false only when rows of the table have changed, which triggers
 * signal, or when another table has replaced the table.  VACUUM and ANALYZE do not set it to
 * false.  The flag is therefore suitable for caches that are expensive to read again.  The caller
 * calls yq_catalog_accept_changes() before it checks the flag.
 */
extern void yq_catalog_on_change_of_rows(YqTable table, bool *flag);
extern void yq_catalog_accept_changes(void);

/*
 * Register "flag".  It is also set to false whenever a transaction or subtransaction aborts or is
 * prepared.  A cache needs such a flag if a statement may read the cache after it has changed the
 * table.  When such a statement fails, the server discards the invalidations of its last command,
 * although the cached rows do not exist any more.  Callers register a flag once per backend.
 */
extern void yq_catalog_on_abort(bool *flag);

/* At commit, inform every backend that a cache built on the table is stale. */
extern void yq_catalog_signal_change(YqTable table);
extern void yq_catalog_signal_change_of(Oid table_oid);

/* Return the sequence behind an identity column. */
extern Oid	yq_identity_sequence(Relation relation, AttrNumber column);

/* Return the role that owns yquota's tables. */
extern Oid	yq_extension_owner(void);

/* Return the OID of a type in schema yquota.  yq_enum_oid() returns the OID of a label of an enum type. */
extern Oid	yq_type_oid(const char *type_name);
extern Oid	yq_enum_oid(const char *type_name, const char *label);

#endif							/* YQ_CATALOG_H */
