/*-------------------------------------------------------------------------
 *
 * text.h
 *	  Figures of queues as Hadoop writes them, palloc'd.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TEXT_H
#define YQ_TEXT_H

#include "nodes/pg_list.h"
#include "queues/hierarchy.h"

/* <memory:1024, vCores:1>; other types only where there is something of them. */
extern char *yq_amounts_text(const YqHierarchy *hierarchy, const int64 *amounts);

/* Labels as an array of PostgreSQL's: {gpu,ssd}. */
extern char *yq_labels_text(const YqHierarchy *hierarchy, const bool *labels);

/* The shortest decimal that is the same float. */
extern char *yq_float_text(float4 value);

/* A fraction or percentage as Java writes it: 1.0 instead of 1. */
extern char *yq_java_float_text(float4 value);

/* Strings as an array of PostgreSQL's: those of a list, or of an array. */
extern Datum yq_array_of_strings(const List *strings);
extern Datum yq_array_of_names(const char *const *names, int count);

#endif							/* YQ_TEXT_H */
