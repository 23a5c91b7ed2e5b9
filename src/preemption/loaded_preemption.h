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
	bool		is_advising;	/* preemption_mode: the resource manager ends containers itself */
	const char *off_because;	/* Hadoop's property that turns rounds off; NULL: rounds are on */
	bool		is_monitor_on;	/* false: every queue is disabled (YQ_MONITOR_ENABLE) */
} YqPreemptionConfiguration;

/* The last round that was recorded. */
typedef struct YqPreemptionRoundRow
{
	bool		is_there;		/* false: no round has been recorded */
	TimestampTz round_at;
	TimestampTz server_started_at;	/* start of the server that recorded it */
} YqPreemptionRoundRow;

/* Mark of a running container that an earlier round has selected. */
typedef struct YqPreemptionMark
{
	YqBytes		container_id;
	TimestampTz marked_at;
	bool		is_killable;	/* lazy preemption has made it killable */
	bool		is_advised;		/* the resource manager was told to end the container */
} YqPreemptionMark;

/* A state with the loader's data. */
typedef struct YqLoadedPreemption
{
	YqPreemption *state;
	YqLoadedCluster *loaded;	/* to be read only */
	YqHierarchy *hierarchy;
	uint64		plan_version;	/* version of the queues of plans when the hierarchy was loaded */
	YqPreemptionConfiguration configuration;
	YqPreemptionRoundRow last;	/* the round to which the marks belong */
	int64		gap;			/* microseconds in which no round could run; marks move forward by this time */
	HTAB	   *marks;			/* YqPreemptionMark entries that count; NULL for none */
	bool		has_told;		/* some marks are killable or advised */
	List	   *forgotten;		/* ids (char *) of containers whose marks this round deletes */
	List	   *ignored;		/* forgotten containers that the resource manager has not ended in time */
	TimestampTz recorded_at;	/* clock time at which containers end; DT_NOBEGIN: not recorded */
	struct YqPreemptionLoader *loader;
} YqLoadedPreemption;

/* The loader that completes leaves of the state. */
typedef struct YqPreemptionLoader
{
	YqLoadedPreemption *preemption;
	YqPreemptionQueue **queues;	/* by number of the queue in the hierarchy; NULL: not in the state */
	bool	   *is_wanted;		/* by number of the queue in the state: the leaf is being completed now */
	HTAB	   *nodes;			/* owned by preemption_applications.c */
	HTAB	   *applications;	/* owned by preemption_applications.c, as are the next two */
	HTAB	   *users;
	List	   *found;			/* YqPreemptionApplicationEntry of wanted leaves */
	HTAB	   *reserved_at;	/* owned by preemption_loader.c; NULL: not read yet */
} YqPreemptionLoader;

/* Return the queue of the hierarchy that belongs to a queue of the state. */
extern const YqQueue *yq_preemption_queue(const YqPreemptionQueue *queue);

/*
 * Return the queue of the state that belongs to a queue of the hierarchy; NULL when the
 * state does not contain it.
 */
extern YqPreemptionQueue *yq_loaded_preemption_queue(const YqLoadedPreemption *preemption, const YqQueue *queue);

/*
 * Return the node with a name, which is added if necessary.  A node that is not in
 * service gets the label on which a container is counted.
 */
extern YqPreemptionNode *yq_loaded_preemption_node(YqPreemptionLoader *loader, YqBytes name, int label);

/* Make the table of nodes. */
extern void yq_loaded_preemption_begin_nodes(YqPreemptionLoader *loader);

/* Return a copy of a name that lives as long as the state. */
extern char *yq_loaded_preemption_keep(const YqPreemptionLoader *loader, YqBytes name);

/* -- preemption applications --------------------------------------------------- */

/*
 * Users and applications of the leaves that a round of preemption examines.
 *
 * Events name applications, which need no row in yquota.application.  An unknown
 * application has priority 0 and no demand.
 */

/* An application of a leaf that is completed. */
typedef struct YqPreemptionApplicationEntry
{
	YqBytes		key;			/* number of the leaf, and id */
	YqPreemptionQueue *leaf;
	const char *application_id;
	const char *username;
	const YqClusterApplication *from;	/* NULL: the application is not ACTIVE, or is unknown */
	int			rank;			/* position among the active applications, in the cluster's order */
	int32		priority;
	bool		is_active;
	int			master_label;	/* label of its application master, or -1 */
	const int64 *master;		/* resources requested for the application master; NULL: not read */
	YqPreemptionApplication *application;
} YqPreemptionApplicationEntry;

/* Make the tables of the loader. */
extern void yq_preemption_applications_begin(YqPreemptionLoader *loader);

/*
 * Add the users of leaves, and find the applications of these leaves in the cluster and
 * in yquota.application.  The found applications are in loader->found.
 */
extern void yq_preemption_applications_find(YqPreemptionLoader *loader, YqPreemptionQueue **leaves, int count);

/* Find the application of a leaf that an event names.  A missing application is added. */
extern YqPreemptionApplicationEntry *yq_preemption_applications_enter(YqPreemptionLoader *loader, YqPreemptionQueue *leaf,
																	  YqBytes application_id, YqBytes username);

/* Add the found applications to the state, in order. */
extern void yq_preemption_applications_add(YqPreemptionLoader *loader);

/* Set the user limits that apply if all users of a leaf share it, whether they have requests or not. */
extern void yq_preemption_applications_set_user_limits(YqPreemptionLoader *loader, YqPreemptionQueue *leaf);

/* -- preemption loader --------------------------------------------------------- */

/*
 * Completes leaves of a round of preemption when a selector first needs them.
 *
 * The loader adds users, applications, reservations and containers of leaves to the state.
 */

/* Register the loader's callbacks with the state, which already contains the queues. */
extern void yq_preemption_loader_begin(YqLoadedPreemption *preemption);

#endif							/* YQ_LOADED_PREEMPTION_H */
