/*-------------------------------------------------------------------------
 *
 * loaded_cluster.h
 *	  The cluster that the loader has filled from the tables, with the loader's
 *	  data about applications and users.
 *
 * The cluster of state/ knows no table.  Its `source` pointers lead here.
 * Everything lives in the memory context of the cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOADED_CLUSTER_H
#define YQ_LOADED_CLUSTER_H

#include "nodes/pg_list.h"
#include "scheduler/state/cluster.h"

/* An application of the cluster, as its source.  That of a request is its name. */
typedef struct YqLoadedApplication
{
	const char *project;		/* the payer */
	int			attempt;		/* number of its application master */
	int64		next_container; /* as application_attempt has it */
	bool		is_gone;		/* it ended or moved while the cycle decided */
	bool		is_decided;		/* there are decisions for it; see record_decisions.c */
	bool		has_other_changes;	/* than of requests and reservations: see record/changed_applications.c */
	bool		is_followed;	/* it has changed and is not settled: see cycle_change.c */
	const YqDecision *master;	/* that starts its application master; likewise */
	int64		read_below;	/* containers of the attempt with smaller numbers have been read: see user_containers.h */
	bool		holds_elsewhere;	/* containers that are counted in another leaf, or for another user */
	int			place;			/* among those that the cycle has touched, by id; see record_containers.c */
	int64	   *renumbered;		/* numbers instead of those from next_container on; see container_number.c */
} YqLoadedApplication;

#define yq_loaded(application) ((YqLoadedApplication *) (application)->source)

typedef struct YqLoadedCluster
{
	YqCluster  *cluster;		/* prepared */
	struct YqClusterLoader *loader; /* see loader.h */
	List	   *changed;		/* YqClusterApplication of which the cycle has written something down */
	List	   *unpaid;			/* YqClusterApplication of which only id and leaf are known: left out */
	List	   *refused;		/* likewise, as what they get could not be written */
	List	   *nodes;			/* names (palloc'd) of the nodes in service, in order */
	List	   *unsettled;		/* ids (palloc'd) of applications that have to be read again by every cycle */
	List	   *stale_queues;	/* YqClusterQueue with changes that are not prepared */
	HTAB	   *strays;			/* names of queues that do not exist, with containers or applications; NULL: none yet */
	MemoryContext killable_context; /* of the killable containers; NULL: there were none yet */
	bool		has_stale_killable;	/* some may have ended or changed: they have to be read again */
	bool		is_overtaken;	/* the cycle has put back requests that it does not contain */
	bool		has_refused;	/* record_decisions.c's: something is held back that was not before */
	bool		is_kept;		/* outlives the cycle: see cache/cluster_cache.h */
} YqLoadedCluster;

/* The user of a leaf, made if need be. */
extern YqClusterUser *yq_loaded_user(YqLoadedCluster *loaded, YqClusterQueue *leaf, const char *username);
extern YqClusterUser *yq_loaded_find_user(YqLoadedCluster *loaded, YqClusterQueue *leaf, YqBytes name);

/* Something about a queue is not as it was prepared; and now all is. */
extern void yq_loaded_note_stale(YqLoadedCluster *loaded, YqClusterQueue *queue);
extern void yq_loaded_forget_stale(YqLoadedCluster *loaded);

/*
 * Note a name of a queue that does not exist, as of a row that does not count; and is a
 * queue that came among them, by its path or name?
 */
extern void yq_loaded_note_stray(YqLoadedCluster *loaded, YqBytes name);
extern bool yq_loaded_is_stray(const YqLoadedCluster *loaded, const YqQueue *queue);

/*
 * ContainerId.toString() of the container with a number, in the present attempt of
 * an application.  palloc'd.
 */
extern text *yq_loaded_container_id(const YqClusterApplication *application, int64 number);

#endif							/* YQ_LOADED_CLUSTER_H */
