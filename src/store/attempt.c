/*-------------------------------------------------------------------------
 *
 * attempt.c
 *	  Work that may fail while the transaction goes on.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "store/attempt.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/* Is it an error that rows, or checks and triggers of theirs, are the cause of? */
static bool
is_of_rows(int code)
{
	static const char *const classes[] = {"21", "22", "23", "42", "44", "54", "P0", "YQ"};
	const char *state = unpack_sql_state(code);

	for (int i = 0; i < (int) lengthof(classes); i++)
	{
		if (strncmp(state, classes[i], 2) == 0)
			return true;
	}
	return code == ERRCODE_CONFIGURATION_LIMIT_EXCEEDED || code == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
}

static ErrorData *
attempt(void (*function) (void *), void *argument, bool is_dry)
{
	MemoryContext caller = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(caller);
	PG_TRY();
	{
		function(argument);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	if (error == NULL && !is_dry)
		ReleaseCurrentSubTransaction();
	else
		RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(caller);
	CurrentResourceOwner = owner;
	if (error != NULL && !is_of_rows(error->sqlerrcode))
		ReThrowError(error);
	return error;
}

ErrorData *
yq_attempt(void (*function) (void *), void *argument)
{
	return attempt(function, argument, false);
}

ErrorData *
yq_attempt_dry(void (*function) (void *), void *argument)
{
	return attempt(function, argument, true);
}
