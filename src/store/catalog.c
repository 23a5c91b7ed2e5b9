/*-------------------------------------------------------------------------
 *
 * catalog.c
 *	  Opens yquota's own tables, and invalidates caches built on them.
 *
 * A single relation cache callback serves the whole library.  The callback only compares OIDs and
 * clears flags.  The next use of a table looks up its OID and its signal again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace_d.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "store/catalog.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(yq_sql_replan);

typedef struct TableEntry
{
	const char *schema;
	const char *name;
	bool		may_have_children;	/* sealed segments of the history */
	Oid			oid;			/* InvalidOid until the OID is looked up; the look-up also checks the version */
	bool		is_local;		/* the table with this OID is known to be plain and local */
	const char *index_name;		/* index that was looked up last, after the OID was looked up */
	Oid			index_oid;
	Oid			signal;			/* relation whose invalidation signals changes of rows; InvalidOid if never
								 * looked up */
	Oid			file_number;	/* file of the table when "signal" was looked up */
	bool		is_suspect;		/* the relation cache entry has changed since "signal" was looked up */
} TableEntry;

#define YQ_TABLE(symbol, in_schema, called, inherited) {.schema = in_schema, .name = called, .may_have_children = inherited},
static TableEntry tables[YQ_TABLE_COUNT] = {
#include "store/table_list.h"
};
#undef YQ_TABLE

#define MAX_WATCHERS 64

typedef struct Watcher
{
	YqTable		table;
	bool		is_of_rows;		/* VACUUM and ANALYZE do not clear the flag */
	bool	   *flag;
} Watcher;

static Watcher watchers[MAX_WATCHERS];
static int	watcher_count = 0;

#define MAX_ABORT_WATCHERS 16

static bool *abort_flags[MAX_ABORT_WATCHERS];
static int	abort_flag_count = 0;
static bool callbacks_registered = false;
static bool has_suspects = false;

/*
 * Handle an invalidation of the relation cache.  An invalidation may arrive while a reader opens a
 * table whose OID has been forgotten.  The callback then cannot tell whether it concerns this
 * table.  As long as the OID is unknown, every invalidation therefore counts as a change of the
 * table.
 */
static void
on_relcache_change(Datum arg, Oid relation_oid)
{
	for (int i = 0; i < watcher_count; i++)
	{
		const TableEntry *watched = &tables[watchers[i].table];

		if (!OidIsValid(relation_oid) || !OidIsValid(watched->signal) || relation_oid == watched->signal ||
			(!watchers[i].is_of_rows && (!OidIsValid(watched->oid) || relation_oid == watched->oid)))
			*watchers[i].flag = false;
	}

	for (int i = 0; i < YQ_TABLE_COUNT; i++)
	{
		if (OidIsValid(relation_oid) && relation_oid != tables[i].oid)
			continue;
		tables[i].oid = InvalidOid;
		tables[i].is_suspect = has_suspects = true;
	}
}

static void
forget_rows_of(YqTable table)
{
	for (int i = 0; i < watcher_count; i++)
	{
		if (watchers[i].is_of_rows && watchers[i].table == table)
			*watchers[i].flag = false;
	}
}

/*
 * Look up the signal of a table again.  If another table has replaced the table, or if it was
 * emptied without firing triggers, its rows count as changed.
 */
static void
look_up_signal(YqTable table)
{
	TableEntry *entry = &tables[table];
	HeapTuple	tuple = OidIsValid(entry->oid) ? SearchSysCache1(RELOID, ObjectIdGetDatum(entry->oid)) : NULL;
	Oid			signal = InvalidOid;
	Oid			file_number = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		signal = form->reltype;
		file_number = form->relfilenode;
		ReleaseSysCache(tuple);
	}
	if (entry->signal != signal || entry->file_number != file_number)
		forget_rows_of(table);
	entry->signal = signal;
	entry->file_number = file_number;
}

void
yq_catalog_accept_changes(void)
{
	AcceptInvalidationMessages();
	if (!has_suspects || !IsTransactionState())
		return;
	/* an invalidation that arrives during the loop is handled by the next call */
	has_suspects = false;
	for (int i = 0; i < YQ_TABLE_COUNT; i++)
	{
		if (!tables[i].is_suspect)
			continue;
		tables[i].is_suspect = false;
		if (OidIsValid(tables[i].signal) && !OidIsValid(yq_table_oid(i)))
			look_up_signal(i);
	}
}

static void
forget_aborted(void)
{
	for (int i = 0; i < abort_flag_count; i++)
		*abort_flags[i] = false;
}

static void
clear_flags_at_transaction_end(XactEvent event, void *argument)
{
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		forget_aborted();
}

static void
clear_flags_at_subtransaction_end(SubXactEvent event, SubTransactionId own_id, SubTransactionId parent_id,
								  void *argument)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		forget_aborted();
}

static void
register_catalog_callbacks(void)
{
	if (callbacks_registered)
		return;
	CacheRegisterRelcacheCallback(on_relcache_change, (Datum) 0);
	RegisterXactCallback(clear_flags_at_transaction_end, NULL);
	RegisterSubXactCallback(clear_flags_at_subtransaction_end, NULL);
	callbacks_registered = true;
}

/* Return the version of the installed SQL objects, or NULL when the extension is not installed. */
static char *
installed_version(void)
{
	Relation	extensions = table_open(ExtensionRelationId, AccessShareLock);
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	char	   *version = NULL;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum("yquota"));
	scan = systable_beginscan(extensions, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;
		Datum		value = heap_getattr(tuple, Anum_pg_extension_extversion,
										 RelationGetDescr(extensions), &isnull);

		version = TextDatumGetCString(value);
	}
	systable_endscan(scan);
	table_close(extensions, AccessShareLock);
	return version;
}

/*
 * Raise an error if the SQL objects have another version than the library.  Scripts of CREATE and
 * ALTER EXTENSION may run while the version of the objects changes.  pg_upgrade may run, because
 * it moves the objects unchanged.
 */
static void
check_version(void)
{
	char	   *version;

	if (creating_extension || IsBinaryUpgrade)
		return;
	version = installed_version();
	if (version == NULL || strcmp(version, YQ_VERSION) == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("SQL objects of extension \"yquota\" do not match its library"),
			 errdetail("The objects have version %s, the library has version %s.",
					   version, YQ_VERSION),
			 errhint("Run ALTER EXTENSION yquota UPDATE, and reconnect sessions that loaded an older library.")));
}

Oid
yq_table_oid(YqTable table)
{
	TableEntry *entry = &tables[table];
	Oid			oid = entry->oid;

	if (!OidIsValid(oid))
	{
		Oid			schema = get_namespace_oid(entry->schema, true);

		register_catalog_callbacks();
		if (OidIsValid(schema))
		{
			check_version();
			entry->oid = oid = get_relname_relid(entry->name, schema);
			entry->is_local = false;
			entry->index_name = NULL;
			/* if an invalidation arrives during the look-up, the next call looks the OID up again */
			look_up_signal(table);
		}
	}
	return oid;
}

/*
 * Tell whether Citus has made the table a distributed or reference table.  The rows are
 * then stored elsewhere, and the local heap is empty.
 */
static bool
is_taken_over_by_citus(Oid relation_oid)
{
	Oid			partition_oid = get_relname_relid("pg_dist_partition",
												  PG_CATALOG_NAMESPACE);
	Relation	partition;
	SysScanDesc scan;
	ScanKeyData key;
	bool		found;

	if (!OidIsValid(partition_oid))
		return false;

	partition = table_open(partition_oid, AccessShareLock);
	ScanKeyInit(&key, yq_column(partition, "logicalrelid"),
				BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation_oid));
	scan = systable_beginscan(partition, InvalidOid, false, NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(partition, AccessShareLock);
	return found;
}

Relation
yq_table_open(YqTable table, LOCKMODE lockmode)
{
	Oid			oid = yq_table_oid(table);
	Relation	relation;

	if (!OidIsValid(oid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s.%s\" does not exist in this database",
						tables[table].schema, tables[table].name),
				 errhint("Run CREATE EXTENSION yquota.")));

	relation = table_open(oid, lockmode);
	/* check the table again if an invalidation that was received with the lock has cleared the OID */
	if (tables[table].is_local && OidIsValid(tables[table].oid))
		return relation;
	if (relation->rd_rel->relkind != RELKIND_RELATION ||
		relation->rd_rel->relam != HEAP_TABLE_AM_OID ||
		(relation->rd_rel->relhassubclass && !tables[table].may_have_children) ||
		is_taken_over_by_citus(oid))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s.%s\" is not a plain local table",
						tables[table].schema, tables[table].name),
				 errdetail("yquota reads and writes it directly and would not see rows kept elsewhere."),
				 errhint("Undo its distribution, partitioning or change of access method; keep history elsewhere instead.")));
	tables[table].is_local = true;
	return relation;
}

bool
yq_table_has_no_pages(YqTable table)
{
	Relation	relation = yq_table_open(table, AccessShareLock);
	bool		result = RelationGetNumberOfBlocks(relation) == 0;

	relation_close(relation, AccessShareLock);
	return result;
}

Oid
yq_index_oid(YqTable table, const char *index_name)
{
	TableEntry *entry = &tables[table];
	Oid			oid;

	if (OidIsValid(entry->oid) && entry->index_name == index_name)
		return entry->index_oid;
	oid = get_relname_relid(index_name, get_namespace_oid(entry->schema, false));
	if (!OidIsValid(oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("index \"%s.%s\" does not exist",
						entry->schema, index_name),
				 errhint("Create it again, or reinstall the extension.")));
	entry->index_name = index_name;
	entry->index_oid = oid;
	return oid;
}

AttrNumber
yq_column(Relation relation, const char *name)
{
	TupleDesc	descriptor = RelationGetDescr(relation);

	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);

		if (!attribute->attisdropped && strcmp(NameStr(attribute->attname), name) == 0)
			return attribute->attnum;
	}

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of table \"%s\" does not exist",
					name, RelationGetRelationName(relation)),
			 errhint("Create it again, or reinstall the extension.")));
}

Snapshot
yq_latest_snapshot(void)
{
	/* use the parallel plan's own snapshot, because a parallel plan may not take new snapshots */
	if (IsInParallelMode())
		return RegisterSnapshot(GetActiveSnapshot());
	return RegisterSnapshot(GetLatestSnapshot());
}

static void
add_watcher(YqTable table, bool is_of_rows, bool *flag)
{
	if (watcher_count >= MAX_WATCHERS)
		elog(ERROR, "too many caches on tables of yquota");

	register_catalog_callbacks();
	(void) yq_table_oid(table);
	watchers[watcher_count++] = (Watcher) {.table = table, .is_of_rows = is_of_rows, .flag = flag};
}

void
yq_catalog_on_change(YqTable table, bool *flag)
{
	add_watcher(table, false, flag);
}

void
yq_catalog_on_change_of_rows(YqTable table, bool *flag)
{
	add_watcher(table, true, flag);
}

void
yq_catalog_on_abort(bool *flag)
{
	if (abort_flag_count >= MAX_ABORT_WATCHERS)
		elog(ERROR, "too many caches on tables of yquota");

	register_catalog_callbacks();
	abort_flags[abort_flag_count++] = flag;
}

/*
 * Send an invalidation with the OID of the table's row type, which is the OID of no relation.  An
 * invalidation of the table itself would not show that rows have changed, because VACUUM and
 * ANALYZE also send it.
 */
void
yq_catalog_signal_change_of(Oid table_oid)
{
	HeapTuple	tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(table_oid));
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_class) GETSTRUCT(tuple);
	form->oid = form->reltype;
	CacheInvalidateRelcacheByTuple(tuple);
	heap_freetuple(tuple);
}

/*
 * Make all sessions replan statements that read a table.  The server does not do this when a table
 * loses a child.  If the transaction is rolled back, this session plans its statements once more.
 */
Datum
yq_sql_replan(PG_FUNCTION_ARGS)
{
	if (SearchSysCacheExists1(RELOID, PG_GETARG_DATUM(0)))
		CacheInvalidateRelcacheByRelid(PG_GETARG_OID(0));
	PG_RETURN_VOID();
}

void
yq_catalog_signal_change(YqTable table)
{
	yq_catalog_signal_change_of(yq_table_oid(table));
}

Oid
yq_identity_sequence(Relation relation, AttrNumber column)
{
#ifdef YQ_IDENTITY_SEQUENCE_OF_RELATION
	return getIdentitySequence(relation, column, false);
#else
	return getIdentitySequence(RelationGetRelid(relation), column, false);
#endif
}

Oid
yq_extension_owner(void)
{
	Relation	relation = yq_table_open(YQ_CONTAINER_EVENT, AccessShareLock);
	Oid			owner = relation->rd_rel->relowner;

	table_close(relation, AccessShareLock);
	return owner;
}

Oid
yq_type_oid(const char *type_name)
{
	Oid			schema = get_namespace_oid("yquota", false);
	Oid			oid = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
									  CStringGetDatum(type_name),
									  ObjectIdGetDatum(schema));

	if (!OidIsValid(oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("type \"yquota.%s\" does not exist", type_name)));
	return oid;
}

Oid
yq_enum_oid(const char *type_name, const char *label)
{
	Oid			oid = GetSysCacheOid2(ENUMTYPOIDNAME, Anum_pg_enum_oid,
									  ObjectIdGetDatum(yq_type_oid(type_name)),
									  CStringGetDatum(label));

	if (!OidIsValid(oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("type \"yquota.%s\" has no label \"%s\"", type_name, label)));
	return oid;
}
