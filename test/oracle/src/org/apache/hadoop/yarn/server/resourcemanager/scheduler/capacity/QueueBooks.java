package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import java.lang.reflect.Field;
import java.util.Map;
import java.util.Set;

import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;

/**
 * What queues count of applications and users, put right where Hadoop fails to
 * keep it.  The class stands in Hadoop's package, as what it calls is visible
 * there only.
 */
public final class QueueBooks
{
	private QueueBooks()
	{
	}

	/**
	 * An application that max-parallel-apps holds is about to leave its queue,
	 * which then takes it off the user's waiting ones, among which it never was.
	 */
	public static void countAsWaiting(FiCaSchedulerApp attempt)
	{
		queue(attempt).getUsersManager().getUserAndAddIfAbsent(attempt.getUser()).submitApplication();
	}

	/** A held application was given a priority, which puts it among those that wait for activation. */
	public static void keepHeld(FiCaSchedulerApp attempt)
	{
		queue(attempt).getPendingAppsOrderingPolicy().removeSchedulableEntity(attempt);
	}

	/** A running application has moved, which leaves it counted in the parents from which it came. */
	public static void countAsMoved(CSQueue from, CSQueue to)
	{
		for (CSQueue parent = from.getParent(); parent != null; parent = parent.getParent())
			((AbstractParentQueue) parent).decrementRunnableApps();
		for (CSQueue parent = to.getParent(); parent != null; parent = parent.getParent())
			((AbstractParentQueue) parent).incrementRunnableApps();
	}

	/** A user who was refused, and has no application, is a user of the queue no more. */
	public static void forgetRefused(AbstractLeafQueue queue, String name)
	{
		UsersManager.User user = queue.getUser(name);

		if (user != null && user.getTotalApplications() == 0)
			queue.getUsersManager().removeUser(name);
	}

	/** The user of an application that is held is a user of its queue. */
	public static void rememberHeld(FiCaSchedulerApp attempt)
	{
		queue(attempt).getUsersManager().getUserAndAddIfAbsent(attempt.getUser());
	}

	public static int held(AbstractLeafQueue queue)
	{
		return queue.getNumNonRunnableApps();
	}

	/** Time passes for queues that were created by themselves: the last submission is so much longer ago. */
	public static void age(CSQueue queue, long milliseconds)
	{
		AbstractCSQueue aged = (AbstractCSQueue) queue;

		aged.setLastSubmittedTimestamp(aged.getLastSubmittedTimestamp() - milliseconds);
	}

	/** Do the outstanding requests of an application make its user an active one? */
	@SuppressWarnings("unchecked")
	public static boolean countsAsDemand(FiCaSchedulerApp attempt)
	{
		try
		{
			Field field = UsersManager.class.getDeclaredField("usersApplications");

			field.setAccessible(true);
			Set<ApplicationId> counted = ((Map<String, Set<ApplicationId>>) field.get(queue(attempt).getUsersManager())).get(attempt.getUser());

			return counted != null && counted.contains(attempt.getApplicationId());
		}
		catch (ReflectiveOperationException e)
		{
			throw new IllegalStateException(e);
		}
	}

	private static AbstractLeafQueue queue(FiCaSchedulerApp attempt)
	{
		return attempt.getCSLeafQueue();
	}
}
