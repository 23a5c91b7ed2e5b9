/*-------------------------------------------------------------------------
 *
 * node_label.h
 *	  The labels that nodes have had, for price factors of labels.
 *
 * A label matters only after the first factor of any label has begun.  While the timeline has no
 * factor of a label, these functions read nothing.  Callers refresh the timeline first.
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
 * Return the label by which a node's containers are priced from an instant on, in the current
 * memory context.
 *
 * The result is NULL if the node is NULL or unknown, if the node has no label, or if no label has a
 * factor.  Labels change no price before the first factor of a label begins.  For an earlier
 * instant, the function returns the label that the node has when this factor begins.
 */
extern char *yq_node_label_at(const text *node, TimestampTz at);

/*
 * Return the first instant after "after" at which the prices of a node's containers may change
 * because the node's label changes.  Returns DT_NOEND if there is no such instant.
 */
extern TimestampTz yq_node_label_next_change(const text *node, TimestampTz after);

#endif							/* YQ_NODE_LABEL_H */
