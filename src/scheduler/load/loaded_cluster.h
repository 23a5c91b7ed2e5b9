/*-------------------------------------------------------------------------
 *
 * loaded_cluster.h
 *	  The cluster that the loader has filled from the tables: rows of statements on their way
 *	  into it, names of containers, and the containers that lazy preemption made killable.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOADED_CLUSTER_H
#define YQ_LOADED_CLUSTER_H

#include "base/compat.h"

#include "base/bytes_table.h"
#include "nodes/pg_list.h"
#include "scheduler/state/cluster.h"
#include "store/saved_plan.h"
#include "utils/snapshot.h"

/* -- container id -------------------------------------------------------------- */

/* Names of containers, as YARN makes them. */

/*
 * ContainerId.toString() of the container with a number, in an attempt of an
 * application.  palloc'd.
 */
extern text *yq_container_id(const char *application_id, int32 attempt, int64 number);

/* -- loaded cluster ------------------------------------------------------------ */

/*
 * The cluster of state/ knows no table.  Its `source` pointers lead here.
 * Everything lives in the memory context of the cluster.
 */

/* An application of the cluster, as its source.  That of a request is its name. */
typedef struct YqLoadedApplication
{
	const char *project;		/* the payer */
	int			attempt;		/* number of its application master */
	int64		next_container; /* as application_attempt has it */
	bool		is_gone;		/* it ended or moved while the cycle decided */
	bool		is_decided;		/* there are decisions for it; see record_decisions.c */
	bool		has_other_changes;	/* than of requests and reservations: see record/record_applications.c */
	bool		is_followed;	/* it has changed and is not settled: see cluster_load.c */
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
	struct YqClusterLoader *loader;
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

/* -- loader -------------------------------------------------------------------- */

/*
 * Rows of statements on their way into a cluster: for the files of this
 * folder alone.
 */

/* As long as the cluster is. */
typedef struct YqClusterLoader
{
	YqLoadedCluster *loaded;
	YqCluster  *cluster;
	YqHierarchy *hierarchy;
	HTAB	   *applications;	/* by id */
	HTAB	   *users;			/* by leaf and name */
	List	   *added;			/* YqClusterApplication: by the reading at hand */
	HTAB	   *held;			/* containers of applications before the reload, by id; NULL for none */
	bool		is_contradictory;	/* so is this */
	YqClusterApplication *sorted;	/* that rows are coming of, or NULL */
	int			sorted_keys;	/* how many of its keys are in order: those from before its rows */
} YqClusterLoader;

/* A row of a statement. */
typedef struct YqLoaderRow
{
	Datum	   *values;			/* of its columns, the first one at 0 */
	bool	   *nulls;
	YqClusterLoader *loader;
} YqLoaderRow;

typedef void (*YqLoaderReader) (const YqLoaderRow *row);

/* Run a statement, and call the reader for each row, in a context that does not last. */
extern void yq_loader_read(YqClusterLoader *loader, YqSavedPlan *statement, Datum *values,
						   YqLoaderReader reader);

/* Values of columns; null is 0, or false. */
extern bool yq_loader_is_null(const YqLoaderRow *row, int column);
extern Datum yq_loader_value(const YqLoaderRow *row, int column);

/* A string that lives as long as the cluster, or NULL. */
extern char *yq_loader_text(const YqLoaderRow *row, int column);

/* Amounts per type of the hierarchy. */
extern int64 *yq_loader_amounts(const YqLoaderRow *row, int column);

/* The number of a label; -1 when it is gone.  Without labels there is one partition. */
extern int	yq_loader_label(const YqLoaderRow *row, int column);

/* Append to a list that lives as long as the cluster. */
extern List *yq_loader_append(const YqClusterLoader *loader, List *list, void *element);

/* Applications of some ids (an array), or (NULL) all, that are not in the cluster. */
extern void yq_loader_read_applications(YqClusterLoader *loader, Datum *ids);

/* Have the application found by its id, which lives as long as the cluster. */
extern void yq_loader_note_application(const YqClusterLoader *loader, const char *id, YqClusterApplication *application);

/* The application of an id that is in the cluster, or NULL. */
extern YqClusterApplication *yq_loader_application(const YqClusterLoader *loader, const char *id);

/* The tables that find applications by id, and users by leaf and name. */
extern HTAB *yq_loader_make_applications(const YqCluster *cluster);
extern HTAB *yq_loader_make_users(const YqCluster *cluster);

/* -- killable containers ------------------------------------------------------- */

/* Loading the containers that lazy preemption has made killable. */

/*
 * Set the killable containers that run in a snapshot, the one that the usage was read
 * with.  Those of unknown queues are left out.
 */
extern void yq_cluster_read_killable(YqLoadedCluster *loaded, Snapshot snapshot);

#endif							/* YQ_LOADED_CLUSTER_H */
