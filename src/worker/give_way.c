/*-------------------------------------------------------------------------
 *
 * give_way.c
 *	  Workers give way to commands that need their database to themselves.
 *
 * DROP DATABASE, ALTER DATABASE ...  RENAME and SET TABLESPACE, and CREATE
 * DATABASE from a template refuse to run while another process is connected,
 * after waiting a few seconds for it to go.  Before such a command the hook
 * takes the lock on the database that the command takes anyway, so that no
 * worker can connect any more, and ends the workers that are connected; the
 * command's own waiting does the rest.  Only the owner of the database has this
 * effect: other roles are refused and must not be able to end workers.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <signal.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "worker/worker.h"

static ProcessUtility_hook_type previous_hook = NULL;

/* The argument of an option, or NULL. */
static DefElem *
find_option(List *options, const char *name)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, name) == 0)
			return option;
	}
	return NULL;
}

/*
 * Which database the command needs alone, and with which lock it will say so;
 * NULL for every other command.
 */
static const char *
database_needed_alone(Node *command, LOCKMODE *lockmode)
{
	*lockmode = AccessExclusiveLock;
	switch (nodeTag(command))
	{
		case T_DropdbStmt:
			return ((DropdbStmt *) command)->dbname;
		case T_RenameStmt:
			if (((RenameStmt *) command)->renameType == OBJECT_DATABASE)
				return ((RenameStmt *) command)->subname;
			return NULL;
		case T_AlterDatabaseStmt:
			if (find_option(((AlterDatabaseStmt *) command)->options, "tablespace"))
				return ((AlterDatabaseStmt *) command)->dbname;
			return NULL;
		case T_CreatedbStmt:
			{
				DefElem    *option = find_option(((CreatedbStmt *) command)->options,
												 "template");

				*lockmode = ShareLock;
				if (option == NULL || option->arg == NULL)
					return "template1";
				return defGetString(option);
			}
		default:
			return NULL;
	}
}

static void
give_way(Node *command)
{
	LOCKMODE	lockmode;
	const char *name = database_needed_alone(command, &lockmode);
	Oid			database;

	if (name == NULL)
		return;
	database = get_database_oid(name, true);
	if (!OidIsValid(database) || database == MyDatabaseId ||
		!object_ownercheck(DatabaseRelationId, database, GetUserId()))
		return;

	LockSharedObject(DatabaseRelationId, database, 0, lockmode);
	yq_worker_signal(database, SIGTERM);
}

static void
on_utility(PlannedStmt *statement, const char *query, bool read_only_tree,
		   ProcessUtilityContext context, ParamListInfo parameters,
		   QueryEnvironment *environment, DestReceiver *receiver,
		   QueryCompletion *completion)
{
	/* In a transaction block or during recovery these commands are refused. */
	if (context == PROCESS_UTILITY_TOPLEVEL && !IsInTransactionBlock(true) &&
		!RecoveryInProgress())
		give_way(statement->utilityStmt);

	if (previous_hook)
		previous_hook(statement, query, read_only_tree, context, parameters,
					  environment, receiver, completion);
	else
		standard_ProcessUtility(statement, query, read_only_tree, context,
								parameters, environment, receiver, completion);
}

void
yq_give_way_init(void)
{
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = on_utility;
}
