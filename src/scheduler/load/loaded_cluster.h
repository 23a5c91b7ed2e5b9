/*-------------------------------------------------------------------------
 *
 * loaded_cluster.h
 *	  The cluster that the loader fills from the tables: reading of rows, names of
 *	  containers, and the containers that lazy preemption has made killable.
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

/* Make names of containers as YARN does. */

/*
 * Return the id of a container, as YARN's ContainerId.toString() does.  The number counts
 * the containers of an attempt of the application.  The result is palloc'd.
 */
extern text *yq_container_id(const char *application_id, int32 attempt, int64 number);

/* -- loaded cluster ------------------------------------------------------------ */

/*
 * The structs of state/cluster.h contain nothing about tables.  Their `source` pointers lead to the
 * data that the loader keeps for them.  All data are in the memory context of the cluster.
 */

/* Source of an application.  The source of a request is its resource name. */
typedef struct YqLoadedApplication
{
	const char *project;		/* the paying project */
	int			attempt;		/* number of the application's attempt, and so of its application master */
	int64		next_container; /* as in application_attempt */
	bool		is_gone;		/* the application ended or moved during the cycle */
	bool		is_decided;		/* the cycle has decisions for the application; see record_decisions.c */
	bool		has_other_changes;	/* changes beyond requests and reservations; see record/record_applications.c */
	bool		is_followed;	/* the application has changed and is not settled: see cluster_load.c */
	const YqDecision *master;	/* decision that starts the application master; see record_decisions.c */
	int64		read_below;	/* the loader has read the attempt's containers below this number; see user_containers.h */
	bool		holds_elsewhere;	/* some of the application's containers count for another leaf or user */
	int			place;			/* position by id among changed applications; see record_containers.c */
	int64	   *renumbered;		/* new numbers for containers from next_container on; see container_number.c */
} YqLoadedApplication;

#define yq_loaded(application) ((YqLoadedApplication *) (application)->source)

typedef struct YqLoadedCluster
{
	YqCluster  *cluster;		/* prepared */
	struct YqClusterLoader *loader;
	List	   *changed;		/* applications that the cycle has changed in the tables: YqClusterApplication */
	List	   *unpaid;			/* applications without a paying project: YqClusterApplication with only id and leaf */
	List	   *refused;		/* applications with a failed decision: YqClusterApplication with only id and leaf */
	List	   *nodes;			/* names (palloc'd) of the nodes in service, in order */
	List	   *unsettled;		/* ids (palloc'd) of applications that every cycle has to read again */
	List	   *stale_queues;	/* YqClusterQueue with changes that are not prepared yet */
	HTAB	   *strays;			/* names of missing queues that have containers or applications; NULL: none so far */
	MemoryContext killable_context; /* context of the killable containers; NULL: there were none so far */
	bool		has_stale_killable;	/* killable containers may have ended or changed; they are read again */
	bool		is_overtaken;	/* the tables have changes that the cluster does not contain, so it cannot be kept */
	bool		has_refused;	/* set by record_decisions.c: a container or application has just been held back */
	bool		is_kept;		/* the cluster outlives the cycle: see cache/cluster_cache.h */
} YqLoadedCluster;

/* Return the user of a leaf.  The first function adds the user if it is missing. */
extern YqClusterUser *yq_loaded_user(YqLoadedCluster *loaded, YqClusterQueue *leaf, const char *username);
extern YqClusterUser *yq_loaded_find_user(YqLoadedCluster *loaded, YqClusterQueue *leaf, YqBytes name);

/* Note that a queue has to be prepared again, or that all queues are prepared. */
extern void yq_loaded_note_stale(YqLoadedCluster *loaded, YqClusterQueue *queue);
extern void yq_loaded_forget_stale(YqLoadedCluster *loaded);

/*
 * Note the name of a queue that does not exist, although a row names it.  The row does not
 * count.  The second function returns whether a new queue has one of these names, as its
 * path or short name.
 */
extern void yq_loaded_note_stray(YqLoadedCluster *loaded, YqBytes name);
extern bool yq_loaded_is_stray(const YqLoadedCluster *loaded, const YqQueue *queue);

/*
 * Return the id of the container with this number in the present attempt of an
 * application.  The result is palloc'd.
 */
extern text *yq_loaded_container_id(const YqClusterApplication *application, int64 number);

/* -- loader -------------------------------------------------------------------- */

/* Read rows of statements into a cluster; only files of this folder use this. */

/* State of the loader, which lives as long as the cluster. */
typedef struct YqClusterLoader
{
	YqLoadedCluster *loaded;
	YqCluster  *cluster;
	YqHierarchy *hierarchy;
	HTAB	   *applications;	/* by id */
	HTAB	   *users;			/* by leaf and name */
	List	   *added;			/* applications that the present reading has added: YqClusterApplication */
	HTAB	   *held;			/* used resources of applications that are being read again, by id; otherwise NULL */
	bool		is_contradictory;	/* the rows contradict rows of other applications in the cluster */
	YqClusterApplication *sorted;	/* application of the rows that are read now, or NULL */
	int			sorted_keys;	/* number of this application's keys that existed before these rows */
} YqClusterLoader;

/* A row of a statement. */
typedef struct YqLoaderRow
{
	Datum	   *values;			/* column values, from index 0 */
	bool	   *nulls;
	YqClusterLoader *loader;
} YqLoaderRow;

typedef void (*YqLoaderReader) (const YqLoaderRow *row);

/* Run a statement, and call the reader for each row in a memory context that is reset after the row. */
extern void yq_loader_read(YqClusterLoader *loader, YqSavedPlan *statement, Datum *values,
						   YqLoaderReader reader);

/* Return whether a column is NULL, and its value.  NULL has the value 0 or false.  Columns count from 1. */
extern bool yq_loader_is_null(const YqLoaderRow *row, int column);
extern Datum yq_loader_value(const YqLoaderRow *row, int column);

/* Return a string that lives as long as the cluster, or NULL. */
extern char *yq_loader_text(const YqLoaderRow *row, int column);

/* Return the amounts of a resource, one per type of the hierarchy. */
extern int64 *yq_loader_amounts(const YqLoaderRow *row, int column);

/* Return the number of a label, or -1 if the label was removed.  Without labels there is one partition. */
extern int	yq_loader_label(const YqLoaderRow *row, int column);

/* Append to a list that lives as long as the cluster. */
extern List *yq_loader_append(const YqClusterLoader *loader, List *list, void *element);

/*
 * Read the applications whose ids are in the array, or all applications if it is NULL.  None
 * of them is in the cluster yet.
 */
extern void yq_loader_read_applications(YqClusterLoader *loader, Datum *ids);

/* Register the application under its id.  The string of the id must live as long as the cluster. */
extern void yq_loader_note_application(const YqClusterLoader *loader, const char *id, YqClusterApplication *application);

/* Return the application with an id, or NULL if the cluster does not contain it. */
extern YqClusterApplication *yq_loader_application(const YqClusterLoader *loader, const char *id);

/* Build the hash tables that find applications by id, and users by leaf and name. */
extern HTAB *yq_loader_make_applications(const YqCluster *cluster);
extern HTAB *yq_loader_make_users(const YqCluster *cluster);

/* -- killable containers ------------------------------------------------------- */

/* Load the containers that lazy preemption has made killable. */

/*
 * Set the killable containers that a snapshot sees running.  Usage must have been read with
 * the same snapshot.  Containers of unknown queues are left out.
 */
extern void yq_cluster_read_killable(YqLoadedCluster *loaded, Snapshot snapshot);

#endif							/* YQ_LOADED_CLUSTER_H */
