/*-------------------------------------------------------------------------
 *
 * hierarchy_labels.h
 *	  The node labels that a queue may use, and its capacities on each label (docs/design.md 5).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_HIERARCHY_LABELS_H
#define YQ_HIERARCHY_LABELS_H

#include "queues/template.h"

/* Set the labels that the queue may use, and the label for requests that do not name a label. */
extern void yq_resolve_accessible_labels(YqResolving *resolving);
extern void yq_resolve_default_label(YqResolving *resolving);

/* Set the capacities of the queue, one per label. */
extern void yq_resolve_labels(YqResolving *resolving, const bool *configured_anywhere);

/* Set the capacities that a managed parent's template gives to the leaves, one per label. */
extern void yq_resolve_leaf_template(YqResolving *resolving);

#endif							/* YQ_HIERARCHY_LABELS_H */
