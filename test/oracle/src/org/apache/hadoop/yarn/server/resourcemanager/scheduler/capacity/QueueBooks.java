package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import java.lang.reflect.Field;
import java.util.Map;
import java.util.Set;

import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;

/**
 * Corrections of the counts that queues keep of applications and users, where Hadoop keeps them
 * wrong. The class is in Hadoop's package, because only that package sees the methods that it calls.
 */
public final class QueueBooks
{
	private QueueBooks()
	{
	}

	/**
	 * Corrects the user's count before an application that max-parallel-apps holds leaves its queue.
	 * The queue then subtracts the application from the user's waiting ones, to which it was never
	 * added.
	 */
	public static void countAsWaiting(FiCaSchedulerApp attempt)
	{
		queue(attempt).getUsersManager().getUserAndAddIfAbsent(attempt.getUser()).submitApplication();
	}

	/**
	 * Corrects the queue after a held application was given another priority. Hadoop then adds it
	 * to the applications that wait for activation.
	 */
	public static void keepHeld(FiCaSchedulerApp attempt)
	{
		queue(attempt).getPendingAppsOrderingPolicy().removeSchedulableEntity(attempt);
	}

	/**
	 * Corrects the parents' counts after a running application has moved. Hadoop still counts it in
	 * the parents that it has left.
	 */
	public static void countAsMoved(CSQueue from, CSQueue to)
	{
		for (CSQueue parent = from.getParent(); parent != null; parent = parent.getParent())
			((AbstractParentQueue) parent).decrementRunnableApps();
		for (CSQueue parent = to.getParent(); parent != null; parent = parent.getParent())
			((AbstractParentQueue) parent).incrementRunnableApps();
	}

	/** Removes a user from the queue after a refusal, if the user has no application there. */
	public static void forgetRefused(AbstractLeafQueue queue, String name)
	{
		UsersManager.User user = queue.getUser(name);

		if (user != null && user.getTotalApplications() == 0)
			queue.getUsersManager().removeUser(name);
	}

	/** Makes the user of a held application a user of its queue. */
	public static void rememberHeld(FiCaSchedulerApp attempt)
	{
		queue(attempt).getUsersManager().getUserAndAddIfAbsent(attempt.getUser());
	}

	public static int held(AbstractLeafQueue queue)
	{
		return queue.getNumNonRunnableApps();
	}

	/**
	 * Lets time pass for a queue that was created automatically: moves its last submission back by
	 * so many milliseconds.
	 */
	public static void age(CSQueue queue, long milliseconds)
	{
		AbstractCSQueue aged = (AbstractCSQueue) queue;

		aged.setLastSubmittedTimestamp(aged.getLastSubmittedTimestamp() - milliseconds);
	}

	/** Returns whether the outstanding requests of an application make its user an active user. */
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
