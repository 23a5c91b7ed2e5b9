/*-------------------------------------------------------------------------
 *
 * user_containers.h
 *	  Containers of users in leaves with fair order, for the loader only.
 *
 * Only the fair policies order applications by their used resources, which only
 * containers show.  The cluster knows the containers of every user of such a leaf.
 * After the user's counter has changed, the loader reads these containers one by one,
 * and the containers that cycles have started since.  If their sum equals the counter,
 * the user has no other containers.  Otherwise a statement reads all containers of the
 * user's applications.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_USER_CONTAINERS_H
#define YQ_USER_CONTAINERS_H

#include "scheduler/load/loaded_cluster.h"

/*
 * Set the used resources of the applications that the loader has added.  Values remembered
 * from before the reload are used if there are any.  Otherwise the application's containers
 * are added up.
 */
extern void yq_user_containers_read(YqClusterLoader *loader);

extern void yq_user_containers_begin_again(YqClusterLoader *loader);
extern void yq_user_containers_remember(const YqClusterLoader *loader, const YqClusterApplication *application);
extern void yq_user_containers_end_again(YqClusterLoader *loader);

/*
 * Set the used resources of the applications of stale users in a leaf (complete_leaf of a
 * loaded cluster).  This is called only when a cycle reaches the leaf, because most cycles
 * reach few leaves.
 */
extern void yq_user_containers_refresh(YqCluster *cluster, YqClusterQueue *leaf);

#endif							/* YQ_USER_CONTAINERS_H */
