/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Every difference between the supported server versions (15 to 18).
 *
 * The only file that looks at PG_VERSION_NUM.  Entries stand in alphabetical
 * order, use the newest server's name and say which release forced them, so
 * that giving up an old release means deleting lines.
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
#endif

/* 18: index_beginscan has an argument for instrumentation */
#include "access/genam.h"
#if PG_VERSION_NUM < 180000
#define index_beginscan(heap, index, snapshot, instrument, nkeys, norderbys) \
	index_beginscan(heap, index, snapshot, nkeys, norderbys)
#endif

/* 16: varatt.h is no longer part of postgres.h */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#endif							/* YQ_COMPAT_H */
