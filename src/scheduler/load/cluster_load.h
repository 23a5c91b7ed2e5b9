/*-------------------------------------------------------------------------
 *
 * cluster_load.h
 *	  The cluster as the tables have it, for an allocation pass.
 *
 * Read with the newest committed state and what this transaction has done: who
 * goes on to write down what is decided holds the lock of passes (pass_lock.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLUSTER_LOAD_H
#define YQ_CLUSTER_LOAD_H

#include "nodes/pg_list.h"
#include "scheduler/state/cluster.h"
#include "utils/snapshot.h"

/* An application of the cluster, as its source.  That of an ask is its name. */
typedef struct YqLoadedApplication
{
	const char *project;		/* who pays */
	int			attempt;		/* number of its application master */
	int64		next_container; /* as application_attempt has it */
	bool		is_gone;		/* it ended or moved while the pass decided */
	bool		is_decided;		/* there are decisions for it; see apply.c */
	const YqDecision *master;	/* that starts its application master; likewise */
	int64		looked_below;	/* of the attempt, containers of smaller numbers were looked for: see holdings.h */
	bool		holds_elsewhere;	/* containers that are counted in another leaf, or for another user */
	int			place;			/* among those that the pass has touched, by id; see decision.c */
	int64	   *renumbered;		/* numbers instead of those from next_container on; see container_number.c */
} YqLoadedApplication;

#define yq_loaded(application) ((YqLoadedApplication *) (application)->source)

typedef struct YqLoadedCluster
{
	YqCluster  *cluster;		/* prepared */
	struct YqClusterLoader *loader; /* of cluster_load.c */
	List	   *changed;		/* YqClusterApplication of which the pass has written something down */
	List	   *unpaid;			/* YqClusterApplication of which only id and leaf are known: left out */
	List	   *nodes;			/* names (palloc'd) of the nodes in service, in order */
	List	   *unsettled;		/* ids (palloc'd) of applications that have to be read again by every pass */
	List	   *stale_queues;	/* YqClusterQueue: what was read of them since is not prepared */
	bool		is_kept;		/* goes on after the pass: see cache/cluster_cache.h */
} YqLoadedCluster;

/*
 * Load what a pass over some nodes needs, or over all (NULL): what is used as the
 * snapshot sees it, all else no older.  Applications that nobody can be charged for,
 * because there is no such project, are left out.  Goes with the cluster's
 * context, below the current one.
 */
extern YqLoadedCluster *yq_cluster_load(YqHierarchy *hierarchy, const char **nodes, int node_count,
										Snapshot snapshot);

/*
 * Read applications again, by their ids (char *), whatever became of them.  False
 * when that does not go together with what was read of others.
 */
extern bool yq_cluster_reload_applications(YqLoadedCluster *loaded, const List *ids);

/*
 * A pass has written down what it changed of an application: have it be as if it were
 * read now.
 */
extern void yq_cluster_settle_application(YqLoadedCluster *loaded, YqClusterApplication *application);

/* Read again how many applications users have: queues and usernames (char *) in pairs. */
extern void yq_cluster_reload_counters(YqLoadedCluster *loaded, const List *queues, const List *usernames);

/* The user of a leaf, made if need be. */
extern YqClusterUser *yq_loaded_user(YqLoadedCluster *loaded, YqClusterQueue *leaf, const char *username);
extern YqClusterUser *yq_loaded_find_user(YqLoadedCluster *loaded, YqClusterQueue *leaf, YqBytes name);

/* Something about a queue is not as it was prepared; and now all is. */
extern void yq_loaded_note_stale(YqLoadedCluster *loaded, YqClusterQueue *queue);
extern void yq_loaded_forget_stale(YqLoadedCluster *loaded);

#endif							/* YQ_CLUSTER_LOAD_H */
