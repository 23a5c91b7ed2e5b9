/*-------------------------------------------------------------------------
 *
 * node_label.h
 *	  The labels that nodes have had, for price factors of labels.
 *
 * Labels matter from the first factor of any label on.  While the timeline has no such factor, these functions
 * read nothing.  Callers have refreshed the timeline.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_NODE_LABEL_H
#define YQ_NODE_LABEL_H

#include "datatype/timestamp.h"
#include "postgres.h"

/* Tell whether any label has a factor. */
extern bool yq_node_labels_matter(void);

/*
 * Return the label of a node that counts for prices from an instant on, in the current memory context.  The result
 * is NULL for a node that is NULL, not known or without a label, and while no label has a factor.  Before the
 * first factor no label changes a price, and the label in force at that factor is the result.
 */
extern char *yq_node_label_at(const text *node, TimestampTz at);

/*
 * Return the first instant after another one at which prices by label may change for a node, because its label
 * does; DT_NOEND for none.
 */
extern TimestampTz yq_node_label_next_change(const text *node, TimestampTz after);

#endif							/* YQ_NODE_LABEL_H */
