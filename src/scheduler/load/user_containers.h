/*-------------------------------------------------------------------------
 *
 * user_containers.h
 *	  Containers of users in leaves with fair order, for the loader only.
 *
 * The fair policies order applications by their used resources.  Counters of usage exist
 * only per user, so the loader adds up the containers of each application.  The cluster
 * remembers the containers of every user of a leaf with a fair policy.  After the user's
 * counter has changed, the loader reads these containers one by one, and the containers
 * that cycles have started since.  If their sum equals the counter, the user has no other
 * containers.  Otherwise a statement reads all containers of the user's applications.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_USER_CONTAINERS_H
#define YQ_USER_CONTAINERS_H

#include "scheduler/load/loaded_cluster.h"

/*
 * Set the used resources of the applications that the loader has added.  An application
 * that is read again gets the resources that yq_user_containers_remember() has kept.  For
 * other applications, the containers are added up.
 */
extern void yq_user_containers_read(YqClusterLoader *loader);

/*
 * The loader calls these functions when it reads applications again.  It calls the first one
 * at the beginning, the second one for each application that it removes, and the last one at
 * the end.
 */
extern void yq_user_containers_begin_again(YqClusterLoader *loader);
extern void yq_user_containers_remember(const YqClusterLoader *loader, const YqClusterApplication *application);
extern void yq_user_containers_end_again(YqClusterLoader *loader);

/*
 * Set the used resources of the applications in a leaf whose users' containers have changed
 * (is_stale).  This is the function complete_leaf of a loaded cluster.  It is called only
 * when a cycle reaches the leaf, because most cycles reach few leaves.
 */
extern void yq_user_containers_refresh(YqCluster *cluster, YqClusterQueue *leaf);

#endif							/* YQ_USER_CONTAINERS_H */
