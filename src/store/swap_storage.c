/*-------------------------------------------------------------------------
 *
 * swap_storage.c
 *	  Exchanges the storage of two tables with the same columns.
 *
 * Sealing history uses this exchange to move the rows of the table to which sessions append into a
 * new, empty child.  The time does not depend on the number of rows, because no row is copied.  The
 * exchange swaps fields between rows of pg_class: the files of the tables and of each index, their
 * sizes, and how far they are frozen.  TOAST tables move together with the rows that point into
 * them, by their OIDs.  The exchange is an ordinary change of catalogs.  It takes effect when the
 * transaction commits, also on standbys, and has no effect when the transaction fails.
 *
 * The caller holds AccessExclusiveLock on both tables.  Both must have the same
 * structure, including the numbers of their columns.  For each index of one table, the
 * other table must have an equal index.  Otherwise the function raises
 * ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/attmap.h"
#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/toast_internals.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "commands/tablecmds.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#define SWAP(type, a, b) \
	do { type swapped_ = (a); (a) = (b); (b) = swapped_; } while (0)

/* -- check that the tables have the same structure --------------------------------------- */

static void
refuse_table(Relation relation, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("storage of table \"%s.%s\" cannot be exchanged",
					get_namespace_name(RelationGetNamespace(relation)),
					RelationGetRelationName(relation)),
			 errdetail_internal("%s", detail),
			 errhint("%s", hint)));
}

static void
check_table(Relation relation)
{
	TupleDesc	descriptor = RelationGetDescr(relation);

	if (relation->rd_rel->relkind != RELKIND_RELATION ||
		relation->rd_rel->relam != HEAP_TABLE_AM_OID ||
		relation->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT ||
		IsSystemRelation(relation))
		refuse_table(relation, "The table is not an ordinary table.",
					 "Undo its change of persistence or access method.");
	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);

		if (attribute->attisdropped)
			refuse_table(relation, "A column of the table has been dropped.",
						 "Make the table anew, without that column.");
		if (attribute->atthasmissing)
			refuse_table(relation, "A column was added to the table after its rows had been written.",
						 "Run VACUUM FULL on the table once.");
	}
}

static void
check_alike(Relation parent, Relation child)
{
	TupleDesc	ours = RelationGetDescr(parent);
	TupleDesc	theirs = RelationGetDescr(child);
	bool		alike = ours->natts == theirs->natts &&
		parent->rd_rel->reltablespace == child->rd_rel->reltablespace;

	for (int i = 0; alike && i < ours->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(ours, i);
		Form_pg_attribute b = TupleDescAttr(theirs, i);

		alike = strcmp(NameStr(a->attname), NameStr(b->attname)) == 0 &&
			a->atttypid == b->atttypid && a->atttypmod == b->atttypmod &&
			a->attcollation == b->attcollation && a->attnotnull == b->attnotnull;
	}
	if (!alike)
		refuse_table(child, "The table differs from the table whose rows it would take over.",
					 "Create it with LIKE and in the same tablespace.");
}

static bool
index_alike(Relation ours, Relation theirs, const AttrMap *same_columns)
{
	return CompareIndexInfo(BuildIndexInfo(ours), BuildIndexInfo(theirs),
							ours->rd_indcollation, theirs->rd_indcollation,
							ours->rd_opfamily, theirs->rd_opfamily,
							(AttrMap *) same_columns) &&
		ours->rd_rel->reltablespace == theirs->rd_rel->reltablespace;
}

/* Return the position of the index in "candidates" that equals "index", and remove it from the list. */
static Oid
take_alike(Relation parent, Oid index, List **candidates)
{
	Relation	ours = index_open(index, AccessExclusiveLock);
	AttrMap    *same_columns = make_attrmap(RelationGetNumberOfAttributes(parent));
	Oid			found = InvalidOid;
	ListCell   *cell;

	if (!ours->rd_index->indisvalid || !ours->rd_index->indisready ||
		ours->rd_index->indcheckxmin)
		refuse_table(parent,
					 psprintf("Its index \"%s\" is not usable by every transaction.",
							  RelationGetRelationName(ours)),
					 "Run REINDEX INDEX on it, or drop it.");
	for (int i = 0; i < same_columns->maplen; i++)
		same_columns->attnums[i] = i + 1;

	foreach(cell, *candidates)
	{
		Relation	theirs = index_open(lfirst_oid(cell), AccessExclusiveLock);

		if (!OidIsValid(found) && index_alike(ours, theirs, same_columns))
			found = lfirst_oid(cell);
		index_close(theirs, NoLock);
	}
	if (!OidIsValid(found))
		refuse_table(parent,
					 psprintf("The other table has no index like \"%s\".",
							  RelationGetRelationName(ours)),
					 "Create it with LIKE, INCLUDING ALL.");
	*candidates = list_delete_oid(*candidates, found);
	index_close(ours, NoLock);
	return found;
}

/* -- exchanging ------------------------------------------------------------ */

static HeapTuple
copy_class_row(Oid relation)
{
	HeapTuple	row = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(relation));

	if (!HeapTupleIsValid(row))
		elog(ERROR, "cache lookup failed for relation %u", relation);
	return row;
}

/*
 * Exchange the marks of files that this transaction has created.  Such files need no WAL if
 * wal_level = minimal.  Also make the entries of the relation cache close their open files.
 */
static void
note_new_files(Oid parent, Oid child)
{
	Relation	ours = relation_open(parent, NoLock);
	Relation	theirs = relation_open(child, NoLock);

	theirs->rd_createSubid = ours->rd_createSubid;
	theirs->rd_newRelfilelocatorSubid = ours->rd_newRelfilelocatorSubid;
	theirs->rd_firstRelfilelocatorSubid = ours->rd_firstRelfilelocatorSubid;
	RelationAssumeNewRelfilelocator(ours);
	RelationCloseSmgr(ours);
	RelationCloseSmgr(theirs);
	relation_close(ours, NoLock);
	relation_close(theirs, NoLock);
}

/* If there is a TOAST table, make it depend on the table that it now belongs to. */
static void
hand_over_toast(Oid toast, Oid new_owner)
{
	ObjectAddress toast_address;
	ObjectAddress owner_address;

	if (!OidIsValid(toast))
		return;
	if (deleteDependencyRecordsFor(RelationRelationId, toast, false) != 1)
		elog(ERROR, "expected one dependency record of TOAST table %u", toast);
	ObjectAddressSet(toast_address, RelationRelationId, toast);
	ObjectAddressSet(owner_address, RelationRelationId, new_owner);
	recordDependencyOn(&toast_address, &owner_address, DEPENDENCY_INTERNAL);
}

/* Exchange the files of two tables or of two indexes. */
static void
exchange_files(Relation catalog, CatalogIndexState indexes, Oid parent, Oid child)
{
	HeapTuple	our_row = copy_class_row(parent);
	HeapTuple	their_row = copy_class_row(child);
	Form_pg_class ours = (Form_pg_class) GETSTRUCT(our_row);
	Form_pg_class theirs = (Form_pg_class) GETSTRUCT(their_row);

	if (!RelFileNumberIsValid(ours->relfilenode) || !RelFileNumberIsValid(theirs->relfilenode))
		elog(ERROR, "cannot exchange the files of mapped relations");

	SWAP(Oid, ours->relfilenode, theirs->relfilenode);
	SWAP(Oid, ours->reltoastrelid, theirs->reltoastrelid);
	SWAP(TransactionId, ours->relfrozenxid, theirs->relfrozenxid);
	SWAP(MultiXactId, ours->relminmxid, theirs->relminmxid);
	SWAP(int32, ours->relpages, theirs->relpages);
	SWAP(float4, ours->reltuples, theirs->reltuples);
	SWAP(int32, ours->relallvisible, theirs->relallvisible);
#ifdef YQ_RELALLFROZEN
	SWAP(int32, ours->relallfrozen, theirs->relallfrozen);
#endif
	CatalogTupleUpdateWithInfo(catalog, &our_row->t_self, our_row, indexes);
	CatalogTupleUpdateWithInfo(catalog, &their_row->t_self, their_row, indexes);

	hand_over_toast(ours->reltoastrelid, parent);
	hand_over_toast(theirs->reltoastrelid, child);
	note_new_files(parent, child);
	heap_freetuple(our_row);
	heap_freetuple(their_row);
}

/* Name TOAST tables after their new tables, because administrators rely on these names. */
static void
rename_toast(Oid table, const char *format)
{
	Relation	relation = table_open(table, NoLock);
	Oid			toast = relation->rd_rel->reltoastrelid;
	char	   *name = psprintf(format, table);

	table_close(relation, NoLock);
	if (!OidIsValid(toast))
		return;
	RenameRelationInternal(toast, name, true, false);
	RenameRelationInternal(toast_get_valid_index(toast, AccessShareLock),
						   psprintf("%s_index", name), true, true);
	CommandCounterIncrement();
}

/*
 * Move the row counts that autovacuum uses.  The child has received all rows that have to be
 * analyzed, frozen and marked as all-visible.
 */
static void
count_rows(Relation parent, Relation child)
{
	Oid			parent_oid = RelationGetRelid(parent);
	int64		counted = DatumGetInt64(OidFunctionCall1(F_PG_STAT_GET_LIVE_TUPLES,
														 ObjectIdGetDatum(parent_oid)));
	double		known = Max((double) counted, parent->rd_rel->reltuples);

	if (known > 0)
		pgstat_count_heap_insert(child, (PgStat_Counter) known);
	pgstat_count_truncate(parent);
}

static void
exchange_tables(Relation parent, Relation child)
{
	List	   *our_indexes = RelationGetIndexList(parent);
	List	   *their_indexes = RelationGetIndexList(child);
	List	   *partners = NIL;
	Relation	catalog = table_open(RelationRelationId, RowExclusiveLock);
	CatalogIndexState indexes = CatalogOpenIndexes(catalog);
	Oid			parent_oid = RelationGetRelid(parent);
	Oid			child_oid = RelationGetRelid(child);
	ListCell   *ours;
	ListCell   *theirs;

	foreach(ours, our_indexes)
		partners = lappend_oid(partners, take_alike(parent, lfirst_oid(ours), &their_indexes));
	if (their_indexes != NIL)
		refuse_table(child, "The table has an index that the other table lacks.",
					 "Create it with LIKE, INCLUDING ALL.");

	exchange_files(catalog, indexes, parent_oid, child_oid);
	forboth(ours, our_indexes, theirs, partners)
		exchange_files(catalog, indexes, lfirst_oid(ours), lfirst_oid(theirs));
	CatalogCloseIndexes(indexes);
	table_close(catalog, RowExclusiveLock);
	CommandCounterIncrement();

	rename_toast(child_oid, "pg_toast_%u_exchanged");
	rename_toast(parent_oid, "pg_toast_%u");
	rename_toast(child_oid, "pg_toast_%u");
}

static Relation
open_swapped_table(Oid oid)
{
	Relation	relation = try_table_open(oid, AccessExclusiveLock);

	if (relation == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", oid)));
	return relation;
}

PG_FUNCTION_INFO_V1(yq_sql_exchange_storage);

/* exchange_storage(parent regclass, child regclass) */
Datum
yq_sql_exchange_storage(PG_FUNCTION_ARGS)
{
	Relation	parent = open_swapped_table(PG_GETARG_OID(0));
	Relation	child = open_swapped_table(PG_GETARG_OID(1));

	CheckTableNotInUse(parent, "exchange_storage");
	CheckTableNotInUse(child, "exchange_storage");
	check_table(parent);
	check_table(child);
	check_alike(parent, child);

	/*
	 * extend predicate locks to whole tables, because rows that serializable transactions have read
	 * move to the other table
	 */
	TransferPredicateLocksToHeapRelation(parent);
	TransferPredicateLocksToHeapRelation(child);
	count_rows(parent, child);
	exchange_tables(parent, child);
	table_close(parent, NoLock);
	table_close(child, NoLock);
	PG_RETURN_VOID();
}
