/*-------------------------------------------------------------------------
 *
 * catalog.h
 *	  yquota's own tables, and signals of their changes.
 *
 * C opens tables only here, so that the checks are in one place.  A table that
 * a distribution engine has taken over would silently read as empty, and is
 * refused (docs/design.md 6).
 *
 * OIDs are cached per backend and dropped by one relation cache callback, which
 * also signals the caches built on these tables (see yq_catalog_on_change).
 * Nothing is read in the callback.
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
 * OID of a table, or InvalidOid when the extension is not installed.
 * ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE when its SQL objects are of another
 * version than the library: amounts and decisions follow from both together.
 */
extern Oid	yq_table_oid(YqTable table);

/*
 * Open one of the tables.  ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE when the
 * extension is not installed here, ERRCODE_FEATURE_NOT_SUPPORTED when the
 * table is not a plain local heap.
 */
extern Relation yq_table_open(YqTable table, LOCKMODE lockmode);

/*
 * Has a table no pages?  Then it has no rows for any snapshot, which is cheaper
 * to check than to scan it.
 */
extern bool yq_table_has_no_pages(YqTable table);

/* OID of the index with that name, a constant, on an open table of ours. */
extern Oid	yq_index_oid(YqTable table, const char *index_name);

/*
 * Attribute number of a column, looked up by name; an error when it is
 * missing (the library and the SQL objects are of different versions).
 */
extern AttrNumber yq_column(Relation relation, const char *name);

/*
 * A snapshot of the newest committed state, at every isolation level: charging
 * reads timelines and ledger with it (docs/design.md 2).  Registered; release with
 * UnregisterSnapshot.
 */
extern Snapshot yq_latest_snapshot(void);

/*
 * Have "flag" set to false whenever one of our tables changes its relation
 * cache entry: the table given, or any table when the whole cache is reset.
 * Register once per backend.
 */
extern void yq_catalog_on_change(YqTable table, bool *flag);

/*
 * Have "flag" set to false only when rows of the table have changed, as
 * triggers signal, or it has become another table.  VACUUM and ANALYZE do not
 * set it, so it fits caches that are costly to read again.  The caller calls
 * yq_catalog_accept_changes() before it looks at the flag.
 */
extern void yq_catalog_on_change_of_rows(YqTable table, bool *flag);
extern void yq_catalog_accept_changes(void);

/*
 * Have "flag" set to false also whenever a transaction or subtransaction aborts
 * or is prepared.  A cache needs it when it may be read by the very statement
 * that changes its table: if the statement fails, the server drops the
 * invalidations of its last command unsent, and the cached rows are gone.
 * Register once per backend.
 */
extern void yq_catalog_on_abort(bool *flag);

/* Tell every backend, at commit, that a cache built on the table is stale. */
extern void yq_catalog_signal_change(YqTable table);
extern void yq_catalog_signal_change_of(Oid table_oid);

/* The sequence behind an identity column. */
extern Oid	yq_identity_sequence(Relation relation, AttrNumber column);

/* The role that owns yquota's tables. */
extern Oid	yq_extension_owner(void);

/* OID of a type in schema yquota, and of a label of an enum type there. */
extern Oid	yq_type_oid(const char *type_name);
extern Oid	yq_enum_oid(const char *type_name, const char *label);

#endif							/* YQ_CATALOG_H */
