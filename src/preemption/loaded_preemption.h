/*-------------------------------------------------------------------------
 *
 * loaded_preemption.h
 *	  The state of a round of preemption that is loaded from the tables, with the
 *	  loader's data.
 *
 * The state of preemption_state.h does not depend on tables.  Its `source` pointers
 * lead to the structs below.  Everything lives in the memory context of the state.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOADED_PREEMPTION_H
#define YQ_LOADED_PREEMPTION_H

#include "preemption/preemption_state.h"
#include "scheduler/load/loaded_cluster.h"

/* -- loaded preemption --------------------------------------------------------- */

/* The configuration of preemption. */
typedef struct YqPreemptionConfiguration
{
	YqPreemptionSettings settings;
	bool		is_advising;	/* from preemption_mode: rounds only advise the resource manager to end containers */
	const char *off_because;	/* Hadoop's property that turns rounds off; NULL: rounds are on */
	bool		is_monitor_on;	/* false: preemption is disabled for every queue (YQ_MONITOR_ENABLE) */
} YqPreemptionConfiguration;

/* The last round that has been recorded. */
typedef struct YqPreemptionRoundRow
{
	bool		is_there;		/* false: no round has been recorded */
	TimestampTz round_at;
	TimestampTz server_started_at;	/* start time of the server that recorded the round */
} YqPreemptionRoundRow;

/* The mark of a running container that an earlier round selected. */
typedef struct YqPreemptionMark
{
	YqBytes		container_id;
	TimestampTz marked_at;
	bool		is_killable;	/* lazy preemption has made the container killable */
	bool		is_advised;		/* the resource manager was told to end the container */
} YqPreemptionMark;

/* A state of a round, with the loader's data. */
typedef struct YqLoadedPreemption
{
	YqPreemption *state;
	YqLoadedCluster *loaded;	/* read only; the round must not change it */
	YqHierarchy *hierarchy;
	uint64		plan_version;	/* version of the plans' queues when the hierarchy was loaded */
	YqPreemptionConfiguration configuration;
	YqPreemptionRoundRow last;	/* time and server of the last round, whose marks were loaded */
	int64		gap;			/* microseconds in which no round could run; they are added to the times of marks */
	HTAB	   *marks;			/* YqPreemptionMark entries that are still valid; NULL if there are none */
	bool		has_told;		/* some marks are killable or advised */
	List	   *forgotten;		/* ids (char *) of containers whose marks this round deletes */
	List	   *ignored;		/* ids (char *) of containers that the resource manager has not ended in time */
	TimestampTz recorded_at;	/* clock time at which ends of containers are recorded; DT_NOBEGIN: not yet */
	struct YqPreemptionLoader *loader;
} YqLoadedPreemption;

/* The loader, which adds the missing data of leaves to the state. */
typedef struct YqPreemptionLoader
{
	YqLoadedPreemption *preemption;
	YqPreemptionQueue **queues;	/* by number of the queue in the hierarchy; NULL: not in the state */
	bool	   *is_wanted;		/* by number of the queue in the state: the leaf's data are being added now */
	HTAB	   *nodes;			/* owned by preemption_applications.c */
	HTAB	   *applications;	/* used by preemption_applications.c */
	HTAB	   *users;			/* used by preemption_applications.c */
	List	   *found;			/* YqPreemptionApplicationEntry elements; used by preemption_applications.c */
	HTAB	   *reserved_at;	/* times of reservations, for preemption_loader.c; NULL: not read yet */
} YqPreemptionLoader;

/* Return the queue of the hierarchy that corresponds to a queue of the state. */
extern const YqQueue *yq_preemption_queue(const YqPreemptionQueue *queue);

/*
 * Return the queue of the state that corresponds to a queue of the hierarchy, or NULL if
 * the state does not contain the queue.
 */
extern YqPreemptionQueue *yq_loaded_preemption_queue(const YqLoadedPreemption *preemption, const YqQueue *queue);

/*
 * Return the node with a name, which is added if it is missing.  If the cluster does not
 * contain the node, the added node gets the label of the container.
 */
extern YqPreemptionNode *yq_loaded_preemption_node(YqPreemptionLoader *loader, YqBytes name, int label);

/* Create the hash table of nodes. */
extern void yq_loaded_preemption_begin_nodes(YqPreemptionLoader *loader);

/* Return a copy of a name that lives as long as the state. */
extern char *yq_loaded_preemption_keep(const YqPreemptionLoader *loader, YqBytes name);

/* -- preemption applications --------------------------------------------------- */

/*
 * The users and applications of the leaves that a round of preemption examines.
 *
 * Events may name applications that have no row in yquota.application.  An application
 * without a row has priority 0 and no demand.
 */

/* An application of a leaf whose data are being added. */
typedef struct YqPreemptionApplicationEntry
{
	YqBytes		key;			/* number of the leaf, and application id */
	YqPreemptionQueue *leaf;
	const char *application_id;
	const char *username;
	const YqClusterApplication *from;	/* NULL: the application is not ACTIVE, or is unknown */
	int			rank;			/* position in the cluster's order of active applications */
	int32		priority;
	bool		is_active;
	int			master_label;	/* label of the request for the application master, or -1 */
	const int64 *master;		/* resources requested for the application master; NULL: not read */
	YqPreemptionApplication *application;
} YqPreemptionApplicationEntry;

/* Create the loader's hash tables. */
extern void yq_preemption_applications_begin(YqPreemptionLoader *loader);

/*
 * Add the users of leaves, and find the applications of these leaves in the cluster and in
 * yquota.application.  The applications are appended to loader->found.
 */
extern void yq_preemption_applications_find(YqPreemptionLoader *loader, YqPreemptionQueue **leaves, int count);

/* Return the application of a leaf that an event names.  The application is added if it is missing. */
extern YqPreemptionApplicationEntry *yq_preemption_applications_enter(YqPreemptionLoader *loader, YqPreemptionQueue *leaf,
																	  YqBytes application_id, YqBytes username);

/* Add the found applications to the state, in order. */
extern void yq_preemption_applications_add(YqPreemptionLoader *loader);

/* Set the user limits that apply when all users of a leaf share it, including users without requests. */
extern void yq_preemption_applications_set_user_limits(YqPreemptionLoader *loader, YqPreemptionQueue *leaf);

/* -- preemption loader --------------------------------------------------------- */

/*
 * Adds the missing data of leaves when a selector first needs them.
 *
 * The loader adds the users, applications, reservations and containers of these leaves to
 * the state.
 */

/* Register the loader's callbacks with the state, which already contains the queues. */
extern void yq_preemption_loader_begin(YqLoadedPreemption *preemption);

#endif							/* YQ_LOADED_PREEMPTION_H */
