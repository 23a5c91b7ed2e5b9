/*-------------------------------------------------------------------------
 *
 * user_containers.h
 *	  What applications of leaves in fair order hold: for the loader alone.
 *
 * Only the fair policies order applications by what each of them holds, and only
 * containers tell that.  The cluster knows those of every user of such a leaf.  When
 * something of his has come or gone, they are looked at one by one, and those that
 * passes have started since: if what they hold together is what the counters say
 * that he uses, there are no others.  If not, they are searched for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_USER_CONTAINERS_H
#define YQ_USER_CONTAINERS_H

#include "scheduler/load/loader.h"

/*
 * What applications that the loader has added hold: as before, if they were
 * remembered since the reading again began; else as their containers tell.
 */
extern void yq_user_containers_read(YqClusterLoader *loader);

extern void yq_user_containers_begin_again(YqClusterLoader *loader);
extern void yq_user_containers_remember(const YqClusterLoader *loader, const YqClusterApplication *application);
extern void yq_user_containers_end_again(YqClusterLoader *loader);

/*
 * What applications of stale users of a leaf hold (a loaded cluster's complete_leaf).  It
 * is not found before the leaf is looked at, which most passes do with few leaves.
 */
extern void yq_user_containers_refresh(YqCluster *cluster, YqClusterQueue *leaf);

#endif							/* YQ_USER_CONTAINERS_H */
