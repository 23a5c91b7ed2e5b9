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
#include "scheduler/cluster.h"

/* An application of the cluster, as its source.  That of an ask is its name. */
typedef struct YqLoadedApplication
{
	const char *project;		/* who pays */
	int			attempt;		/* number of its application master */
	int64		next_container; /* as application_attempt has it */
	bool		is_gone;		/* it ended or moved while the pass decided */
	bool		is_decided;		/* there are decisions for it; see apply.c */
	int			place;			/* among all, by id; see decision.c */
} YqLoadedApplication;

#define yq_loaded(application) ((YqLoadedApplication *) (application)->source)

/* A reservation that was there, as its source. */
typedef struct YqLoadedReservation
{
	const char *container_id;
} YqLoadedReservation;

typedef struct YqLoadedCluster
{
	YqCluster  *cluster;		/* prepared */
	List	   *applications;	/* YqClusterApplication, by id */
	List	   *reservations;	/* YqReservation: those that were there */
	List	   *unpaid;			/* YqClusterApplication of which only id and leaf are known: left out */
	List	   *nodes;			/* names (palloc'd) of the nodes in service, in order */
} YqLoadedCluster;

/*
 * Load what a pass over some nodes needs, or over all (NULL).  Applications that
 * nobody can be charged for, because there is no such project, are left out.
 * Goes with the cluster's context.
 */
extern YqLoadedCluster *yq_cluster_load(YqHierarchy *hierarchy, const char **nodes, int node_count);

#endif							/* YQ_CLUSTER_LOAD_H */
