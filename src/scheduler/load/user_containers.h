/*-------------------------------------------------------------------------
 *
 * user_containers.h
 *	  Containers of users in leaves with fair order, for the loader only.
 *
 * Only the fair policies order applications by their used resources, which only
 * containers show.  The cluster knows the containers of every user of such a leaf.
 * After a change of the user's counter they are read one by one, with the containers
 * that cycles have started since.  If the sum equals the counter, there are no others.
 * If not, a statement reads all containers of the user's applications.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_USER_CONTAINERS_H
#define YQ_USER_CONTAINERS_H

#include "scheduler/load/loaded_cluster.h"

/*
 * Set the used resources of applications that the loader has added: from before the
 * reload, if they were remembered; else from their containers.
 */
extern void yq_user_containers_read(YqClusterLoader *loader);

extern void yq_user_containers_begin_again(YqClusterLoader *loader);
extern void yq_user_containers_remember(const YqClusterLoader *loader, const YqClusterApplication *application);
extern void yq_user_containers_end_again(YqClusterLoader *loader);

/*
 * Set the used resources of applications of stale users of a leaf (a loaded
 * cluster's complete_leaf).  The scheduler calls it when it reaches the leaf,
 * since most cycles reach few leaves.
 */
extern void yq_user_containers_refresh(YqCluster *cluster, YqClusterQueue *leaf);

#endif							/* YQ_USER_CONTAINERS_H */
