/*-------------------------------------------------------------------------
 *
 * rest_names.h
 *	  Who asks for nodes and racks by name, in a pass over many of them: there queues
 *	  do not rest (rest.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REST_NAMES_H
#define YQ_REST_NAMES_H

#include "scheduler/state/cluster.h"

/* An index of the names, in the cluster's context. */
typedef struct YqRestNames YqRestNames;

extern YqRestNames *yq_rest_names_make(const YqCluster *cluster);
extern void yq_rest_names_free(YqRestNames *names);

/* Note in leaves that have something to do with the node, or its rack, and in those above them, that they have (asks_for). */
extern void yq_rest_names_mark(const YqCluster *cluster, YqRestNames *names, const YqClusterNode *node);

/*
 * Is it of no consequence what a key asks for in a rack?  So it is where the key may
 * be anywhere only in name, and its place in the rack is not due: it does not wait.
 */
extern bool yq_rest_rack_is_idle(const YqCluster *cluster, const YqRequestKey *key, const YqAsk *ask);

#endif							/* YQ_REST_NAMES_H */
