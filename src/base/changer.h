/*-------------------------------------------------------------------------
 *
 * changer.h
 *	  Changing rows of yquota's own tables, one by one, by their primary keys.
 *
 * What is done with one changer is one command, of which nothing is seen before it is
 * closed: a row may be changed once.  Indexes are kept and constraints looked at; triggers of
 * rows and statements fire as those of UPDATE, INSERT and DELETE do, but transition tables
 * are empty, as they are where logical replication applies changes.  Privileges are
 * not looked at.  A row that somebody else is changing is waited for, and is then
 * taken as it is, whatever the isolation level.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CHANGER_H
#define YQ_CHANGER_H

#include "base/catalog.h"
#include "executor/tuptable.h"

typedef struct YqChanger YqChanger;

/*
 * Open in the current memory context, which must outlive it.  Columns are called by
 * their rank among the names, of which those of the primary key are the first, in its
 * order.  RowExclusiveLock is kept until the end of the transaction.  In a read-only
 * transaction ERRCODE_READ_ONLY_SQL_TRANSACTION.
 */
extern YqChanger *yq_changer_open(YqTable table, const char *primary_key, const char *const *names, int count);

/* Find the row with a key, and lock it; false when there is none. */
extern bool yq_changer_find(YqChanger *changer, const Datum *key);

/* What a column of it is, which is not null. */
extern Datum yq_changer_value(const YqChanger *changer, int column);

/* Set a column of the row that was found, or of one that is to be inserted. */
extern void yq_changer_set(YqChanger *changer, int column, Datum value);
extern void yq_changer_set_null(YqChanger *changer, int column);

/* Write the row that was found, or insert one with the key: columns of it that were not set are null. */
extern void yq_changer_write(YqChanger *changer);

/* Delete the row that was found. */
extern void yq_changer_delete(YqChanger *changer);

/* End of the command; releases everything.  NULL: there was nothing to change. */
extern void yq_changer_close(YqChanger *changer);

#endif							/* YQ_CHANGER_H */
