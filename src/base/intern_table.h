/*-------------------------------------------------------------------------
 *
 * intern_table.h
 *	  One copy of each of many equal values, so that they are compared by address.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_INTERN_TABLE_H
#define YQ_INTERN_TABLE_H

typedef struct yq_intern_table_hash YqInternTable;

/*
 * The copy of a value in the context, in which the table is made when it is NULL; NULL
 * for NULL.  Copies and table go when the context does.
 */
extern const struct varlena *yq_intern(YqInternTable **table, const void *value, MemoryContext context);

#endif							/* YQ_INTERN_TABLE_H */
