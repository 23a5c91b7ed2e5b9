/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Every difference between the supported server versions (15 to 18).
 *
 * No other file uses PG_VERSION_NUM.  Entries are in alphabetical order.  They use the
 * names of the newest server, and begin with the release that made them necessary.  To
 * end support for an older release, delete its entries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_COMPAT_H
#define YQ_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM < 150000
#error "yquota needs PostgreSQL 15 or later"
#endif

#ifndef HAVE_INT128
#error "yquota needs a compiler with 128-bit integers"
#endif

/* 16: input functions can report errors softly */
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#else
#define ereturn(context, dummy_value, ...) \
	do { ereport(ERROR, __VA_ARGS__); return dummy_value; } while (0)
#define errsave(context, ...)	ereport(ERROR, __VA_ARGS__)
#define DirectInputFunctionCallSafe(function, text, type, modifier, context, result) \
	(*(result) = DirectFunctionCall1(function, CStringGetDatum(text)), true)
#endif

/*
 * 16: EvalPlanQualInit() gets the relations that the statement changes; earlier releases have
 * EvalPlanQualInitExt() for them
 */
#include "executor/executor.h"
#if PG_VERSION_NUM < 160000
#define EvalPlanQualInit(state, parent, plan, row_marks, param, relations) \
	EvalPlanQualInitExt(state, parent, plan, row_marks, param, relations)
#endif

/* 16: ExecInsertIndexTuples() has an argument that restricts it to summarizing indexes */
#if PG_VERSION_NUM < 160000
#define ExecInsertIndexTuples(result, slot, estate, update, no_error, conflict, arbiters, summarizing) \
	ExecInsertIndexTuples(result, slot, estate, update, no_error, conflict, arbiters)
#endif

/* 16: the entry of a setting is found by its name */
#if PG_VERSION_NUM >= 160000
#define YQ_FIND_OPTION
#endif

/* 17: getIdentitySequence takes the open relation */
#if PG_VERSION_NUM >= 170000
#define YQ_IDENTITY_SEQUENCE_OF_RELATION
#endif

/* 18: index_beginscan has an argument for instrumentation */
#include "access/genam.h"
#if PG_VERSION_NUM < 180000
#define index_beginscan(heap, index, snapshot, instrument, nkeys, norderbys) \
	index_beginscan(heap, index, snapshot, nkeys, norderbys)
#endif

/* 16: a single function checks privileges on objects of every kind; yquota needs it only for functions */
#if PG_VERSION_NUM < 160000
#define object_aclcheck(class_oid, object_oid, role_oid, mode) \
	pg_proc_aclcheck(object_oid, role_oid, mode)
#endif

/* 16: a single function checks the ownership of objects of every kind; yquota needs it only for databases */
#if PG_VERSION_NUM < 160000
#define object_ownercheck(class_oid, object_oid, role_oid) \
	pg_database_ownercheck(object_oid, role_oid)
#endif

/* 18: the module magic carries name and version */
#if PG_VERSION_NUM < 180000
#define PG_MODULE_MAGIC_EXT(...)	PG_MODULE_MAGIC
#endif

/* 18: pg_noreturn stands before the declaration of a function */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* 18: pg_class counts the all-frozen pages of a relation */
#if PG_VERSION_NUM >= 180000
#define YQ_RELALLFROZEN
#endif

/* 16: functions and fields about the files of relations have other names */
#if PG_VERSION_NUM < 160000
#define RelFileNumberIsValid(number)	OidIsValid(number)
#define RelationAssumeNewRelfilelocator RelationAssumeNewRelfilenode
#define rd_firstRelfilelocatorSubid		rd_firstRelfilenodeSubid
#define rd_newRelfilelocatorSubid		rd_newRelfilenodeSubid
#endif

/* 16: the relation cache stores file name and file number in other fields */
#if PG_VERSION_NUM >= 160000
#define YQ_FILE_NUMBER(relation)		((relation)->rd_locator.relNumber)
#define YQ_FILE_OF(relation)			((relation)->rd_locator)
#else
#define YQ_FILE_NUMBER(relation)		((relation)->rd_node.relNode)
#define YQ_FILE_OF(relation)			((relation)->rd_node)
#endif

/* The hash functions of another major version may give other results. */
#define YQ_SERVER_MAJOR					(PG_VERSION_NUM / 10000)

/* 16: varatt.h is no longer part of postgres.h */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* 17: an index access method may keep state between insertions */
#if PG_VERSION_NUM < 170000
#define index_insert_cleanup(index, info)	((void) 0)
#endif

/* 17: wait events of extensions have names */
#if PG_VERSION_NUM < 170000
#define WaitEventExtensionNew(name)	PG_WAIT_EXTENSION
#endif

#endif							/* YQ_COMPAT_H */
