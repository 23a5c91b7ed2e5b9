package yquota.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

import org.apache.hadoop.yarn.api.protocolrecords.KillApplicationRequest;
import org.apache.hadoop.yarn.api.protocolrecords.MoveApplicationAcrossQueuesRequest;
import org.apache.hadoop.yarn.api.protocolrecords.UpdateApplicationPriorityRequest;
import org.apache.hadoop.yarn.api.protocolrecords.UpdateApplicationTimeoutsRequest;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ApplicationTimeoutType;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.monitor.SchedulingEditPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractCSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AutoCreatedLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AutoCreatedQueueDeletionPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.QueueBooks;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.QueueManagementDynamicEditPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.SchedulingMode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.UsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.util.Times;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * The area "submissions": how applications are accepted, held, activated and ended. Its records are
 * in test/queues/submissions.jsonl. A step has the facts that it changed. Where the step computes
 * all queues anew, it has the changed figures, too.
 */
public final class Submissions implements Area
{
	/** Fields of a step that are results. All other fields are input. */
	private static final String[] RESULTS = {"error", "decided_by", "facts", "figures", "containers", "outstanding"};

	/**
	 * The rules by which an application is refused or delayed. Each has words that only its message
	 * has.
	 */
	private static final String[][] RULES = {
		{"maximum_applications_system", "Maximum system application limit reached"},
		{"maximum_applications_per_user", " applications from user "},
		{"maximum_applications", " applications, cannot accept submission"},
		{"queue_state", " is STOPPED. Cannot accept submission"},
		{"priority_acl", " does not have permission to submit/update "},
		{"acl", " does not have permission to submit "},
		{"lifetime", "Invalid application timeout"},
		{"label", "doesn't have permission to access all labels"},
		{"am_resource", "Invalid resource request"},
		{"empty_cluster", "Skipping AM assignment as cluster resource is empty"},
		{"user_am_limit", "User's AM resource limit exceeded"},
		{"am_limit", "Queue's AM resource limit exceeded"}};

	private Cluster cluster;
	private ObjectNode properties;
	private SchedulingEditPolicy deletion;
	private SchedulingEditPolicy management;
	private Map<String, String> facts;
	private Map<String, String> figures;
	private Map<Integer, Boolean> outstanding;
	private Map<String, String> containers;
	private Set<Integer> refused;
	private Map<Integer, List<ResourceRequest>> asks;

	public static void main(String[] arguments) throws Exception
	{
		UserGroups.put("alice", "staff", "dev");
		UserGroups.put("bob", "staff", "ops");
		UserGroups.put("carol", "dev");
		UserGroups.put("dave", "ops", "staff");
		UserGroups.put("erin", "research", "dev", "ops");
		Oracle.main(new Submissions(), arguments);
	}

	@Override
	public String[] families()
	{
		return SubmissionWorkload.FAMILIES;
	}

	@Override
	public ObjectNode generate(String family, long seed)
	{
		return new SubmissionWorkload(family, seed).make();
	}

	@Override
	public ObjectNode record(ObjectNode workload) throws Exception
	{
		ObjectNode record = workload.deepCopy();

		record.remove(Arrays.asList("facts", "figures", "refused"));
		record.putArray("steps");
		properties = workload.get("properties").deepCopy();
		facts = new TreeMap<>();
		figures = new TreeMap<>();
		outstanding = new HashMap<>();
		containers = new LinkedHashMap<>();
		refused = new HashSet<>();
		asks = new HashMap<>();
		try (Cluster started = start(workload))
		{
			cluster = started;
			deletion = started(new AutoCreatedQueueDeletionPolicy());
			management = started(new QueueManagementDynamicEditPolicy());
			for (JsonNode node : workload.get("nodes"))
				cluster.addNode(node.get("name").asText(), "/rack", node.path("label").asText(""), Amounts.read(node));
			cluster.update();
			putChanges(record, "facts", facts, facts = facts());
			putChanges(record, "figures", figures, figures = figures());
			for (JsonNode step : workload.get("steps"))
				if (mayPlay(step))
					record.withArray("steps").add(play(step.deepCopy()));
		}
		catch (RefusedException e)
		{
			record.put("refused", e.getMessage());
		}
		return record;
	}

	/** Thrown when Hadoop does not start with the configuration. */
	private static final class RefusedException extends Exception
	{
		private static final long serialVersionUID = 1;

		RefusedException(String message)
		{
			super(message);
		}
	}

	private static Cluster start(JsonNode workload) throws RefusedException
	{
		try
		{
			return new Cluster(workload.get("properties"), workload.get("labels"));
		}
		catch (Exception e)
		{
			throw new RefusedException(Cluster.reason(e));
		}
	}

	private SchedulingEditPolicy started(SchedulingEditPolicy policy)
	{
		policy.init(cluster.manager.getConfig(), cluster.manager.getRMContext(), cluster.scheduler);
		return policy;
	}

	/**
	 * Returns whether a step can be played. The generator cannot know that an application was
	 * refused, and the resource manager does not know a refused application.
	 */
	private boolean mayPlay(JsonNode step)
	{
		return !step.has("app") || List.of("submit", "finish").contains(step.get("do").asText()) || cluster.application(step.get("app").asInt()) != null;
	}

	private ObjectNode play(ObjectNode step) throws Exception
	{
		String operation = step.get("do").asText();
		String error;

		step.remove(Arrays.asList(RESULTS));
		error = perform(operation, step);
		cluster.settle();
		rememberHeld();
		if (error != null)
			step.put("error", error);
		if (operation.equals("submit"))
			putRule(step, error);
		putContainers(step);
		putOutstanding(step);
		putChanges(step, "facts", facts, facts = facts());
		if (operation.equals("update"))
			putChanges(step, "figures", figures, figures = figures());
		return step;
	}

	/** Performs an operation. Returns null, or the message with which it was refused. */
	private String perform(String operation, ObjectNode step) throws Exception
	{
		int number = step.path("app").asInt();

		switch (operation)
		{
			case "submit":
				return submit(step);
			case "finish":
				return finish(step);
			case "move":
				return move(step);
			case "priority":
				return changePriority(step);
			case "lifetime":
				return call(step, client -> client.updateApplicationTimeouts(UpdateApplicationTimeoutsRequest.newInstance(Cluster.applicationId(number),
					Collections.singletonMap(ApplicationTimeoutType.LIFETIME, Times.formatISO8601(System.currentTimeMillis() + 1000 * step.get("lifetime").asLong())))));
			case "refresh":
				return refresh(step.get("properties"));
			case "node":
				cluster.addNode(step.get("name").asText(), "/rack", step.path("label").asText(""), Amounts.read(step));
				return null;
			case "heartbeat":
				cluster.heartbeat(step.get("node").asText());
				return null;
			case "ask":
				allocate(number, asked(number, Amounts.read(step), step.get("count").asInt()), Collections.emptyList());
				return null;
			case "cancel":
				allocate(number, cancelled(number), Collections.emptyList());
				return null;
			case "release":
				allocate(number, Collections.emptyList(), some(number, step.get("count").asInt()));
				return null;
			case "manage":
				management.editSchedule();
				return null;
			case "expire":
				expire(1000 * step.get("seconds").asLong());
				return null;
			case "update":
				cluster.update();
				return null;
			default:
				throw new IllegalArgumentException(operation);
		}
	}

	private String submit(ObjectNode step) throws Exception
	{
		int number = step.get("app").asInt();
		String user = step.get("user").asText();
		String error = cluster.submit(context(step), user);
		RMApp application = cluster.application(number);

		if (error == null && application.getState() == RMAppState.FAILED)
			error = application.getDiagnostics().toString();
		if (error != null)
		{
			refused.add(number);
			for (CSQueue queue : cluster.queues().values())
				if (queue instanceof AbstractLeafQueue)
					QueueBooks.forgetRefused((AbstractLeafQueue) queue, user);
		}
		return error;
	}

	private static ApplicationSubmissionContext context(ObjectNode step)
	{
		Resource master = Amounts.read(step.get("am"));
		ApplicationSubmissionContext context = ApplicationSubmissionContext.newInstance(Cluster.applicationId(step.get("app").asInt()), "app",
			step.get("queue").asText(), step.has("priority") ? Priority.newInstance(step.get("priority").asInt()) : null,
			ContainerLaunchContext.newInstance(null, null, null, null, null, null),
			step.path("unmanaged").asBoolean(), false, 1, master, "test", false);

		if (step.has("label"))
		{
			ResourceRequest request = ResourceRequest.newInstance(Priority.newInstance(0), ResourceRequest.ANY, master, 1);

			request.setNodeLabelExpression(step.get("label").asText());
			context.setAMContainerResourceRequests(Collections.singletonList(request));
		}
		if (step.has("lifetime"))
			context.setApplicationTimeouts(Collections.singletonMap(ApplicationTimeoutType.LIFETIME, step.get("lifetime").asLong()));
		if (step.has("tags"))
		{
			Set<String> tags = new HashSet<>();

			step.get("tags").forEach(tag -> tags.add(tag.asText()));
			context.setApplicationTags(tags);
		}
		return context;
	}

	private String call(ObjectNode step, Cluster.Request request) throws Exception
	{
		return cluster.call(step.get("caller").asText(), request);
	}

	private String finish(ObjectNode step) throws Exception
	{
		FiCaSchedulerApp attempt = cluster.attempt(step.get("app").asInt());

		// A refused application has ended already.
		if (cluster.application(step.get("app").asInt()) == null)
			return null;
		if (attempt != null && !attempt.isRunnable())
			QueueBooks.countAsWaiting(attempt);
		return call(step, client -> client.forceKillApplication(KillApplicationRequest.newInstance(Cluster.applicationId(step.get("app").asInt()))));
	}

	private String move(ObjectNode step) throws Exception
	{
		FiCaSchedulerApp attempt = cluster.attempt(step.get("app").asInt());
		CSQueue from = attempt == null ? null : attempt.getCSLeafQueue();
		boolean held = attempt != null && !attempt.isRunnable();
		String error;

		if (held)
			QueueBooks.countAsWaiting(attempt);
		error = call(step, client -> client.moveApplicationAcrossQueues(
			MoveApplicationAcrossQueuesRequest.newInstance(Cluster.applicationId(step.get("app").asInt()), step.get("queue").asText())));
		cluster.settle();
		if (error == null && attempt != null && !held)
			QueueBooks.countAsMoved(from, attempt.getCSLeafQueue());
		if (error != null && held)
			attempt.getCSLeafQueue().getUser(attempt.getUser()).finishApplication(false);
		if (error != null && attempt != null && cluster.queue(step.get("queue").asText()) instanceof AbstractLeafQueue)
			QueueBooks.forgetRefused((AbstractLeafQueue) cluster.queue(step.get("queue").asText()), attempt.getUser());
		return error;
	}

	private String changePriority(ObjectNode step) throws Exception
	{
		int number = step.get("app").asInt();
		FiCaSchedulerApp attempt = cluster.attempt(number);
		String error = call(step, client -> client.updateApplicationPriority(
			UpdateApplicationPriorityRequest.newInstance(Cluster.applicationId(number), Priority.newInstance(step.get("priority").asInt()))));

		if (attempt != null && error == null)
		{
			// Hadoop leaves the old priority in the scheduler's application. A later return to it
			// would then seem to be no change.
			cluster.scheduler.getSchedulerApplications().get(Cluster.applicationId(number)).setPriority(cluster.application(number).getApplicationPriority());
			if (!attempt.isRunnable())
				QueueBooks.keepHeld(attempt);
		}
		return error;
	}

	private String refresh(JsonNode changes)
	{
		ObjectNode wanted = properties.deepCopy();

		changes.fields().forEachRemaining(change ->
		{
			if (change.getValue().isNull())
				wanted.remove(change.getKey());
			else
				wanted.set(change.getKey(), change.getValue());
		});
		try
		{
			cluster.refresh(wanted);
			properties = wanted;
			return null;
		}
		catch (Exception e)
		{
			return e.getMessage();
		}
	}

	/**
	 * Returns the request of an ask. Each ask of an application has a separate priority, one higher
	 * than that of the previous ask.
	 */
	private List<ResourceRequest> asked(int number, Resource each, int count)
	{
		List<ResourceRequest> own = asks.computeIfAbsent(number, key -> new ArrayList<>());

		own.add(ResourceRequest.newInstance(Priority.newInstance(own.size() + 1), ResourceRequest.ANY, each, count));
		return Collections.singletonList(own.get(own.size() - 1));
	}

	private List<ResourceRequest> cancelled(int number)
	{
		List<ResourceRequest> own = asks.getOrDefault(number, Collections.emptyList());

		own.forEach(ask -> ask.setNumContainers(0));
		return own;
	}

	private void allocate(int number, List<ResourceRequest> asks, List<ContainerId> release)
	{
		FiCaSchedulerApp attempt = cluster.attempt(number);

		// The list is copied, because Hadoop changes the list and its requests.
		if (attempt != null)
			cluster.scheduler.allocate(attempt.getApplicationAttemptId(), asks.stream().map(ResourceRequest::clone).collect(Collectors.toList()),
				null, release, null, null, new ContainerUpdates());
	}

	/** Returns up to so many containers of an application, without its master. */
	private List<ContainerId> some(int number, int count)
	{
		TreeSet<ContainerId> some = new TreeSet<>();

		if (cluster.attempt(number) != null)
			for (RMContainer container : cluster.attempt(number).getLiveContainers())
				if (!container.isAMContainer())
					some.add(container.getContainerId());
		while (some.size() > count)
			some.pollLast();
		return new ArrayList<>(some);
	}

	/**
	 * Lets time pass, then runs the policy twice, because it deletes a queue only when it finds the
	 * queue unused for the second time.
	 */
	private void expire(long milliseconds) throws Exception
	{
		for (CSQueue queue : cluster.queues().values())
			if (isDynamic(queue))
				QueueBooks.age(queue, milliseconds);
		for (int i = 0; i < 2; i++)
		{
			deletion.editSchedule();
			cluster.settle();
		}
	}

	/**
	 * Keeps the users of held applications as users of their queues. Hadoop forgets a user whose
	 * applications are all held.
	 */
	private void rememberHeld()
	{
		for (RMApp application : cluster.applications().values())
			if (!cluster.attempt(application).isRunnable())
				QueueBooks.rememberHeld(cluster.attempt(application));
	}

	/**
	 * Puts the rule that refused or delayed an application. Hadoop does not say which rule delays
	 * an unmanaged application.
	 */
	private void putRule(ObjectNode step, String error)
	{
		int number = step.get("app").asInt();
		FiCaSchedulerApp attempt = cluster.attempt(number);

		if (error != null)
			step.put("decided_by", rule(error, "placement"));
		else if (!attempt.isRunnable())
			step.put("decided_by", "max_parallel_apps");
		else if (Cluster.isActive(attempt))
			step.put("decided_by", "-");
		else
			step.put("decided_by", rule(cluster.application(number).getCurrentAppAttempt().getDiagnostics(), null));
		if (step.get("decided_by").isNull())
			step.remove("decided_by");
	}

	private static String rule(String words, String otherwise)
	{
		for (String[] rule : RULES)
			if (words.contains(rule[1]))
				return rule[0];
		return otherwise;
	}

	/** Puts the containers that have started, moved to another queue, or ended. */
	private void putContainers(ObjectNode step)
	{
		Map<String, String> now = new LinkedHashMap<>();

		for (Map.Entry<Integer, RMApp> application : cluster.applications().entrySet())
		{
			FiCaSchedulerApp attempt = cluster.attempt(application.getValue());
			Map<ContainerId, RMContainer> sorted = new TreeMap<>();

			for (RMContainer container : attempt.getLiveContainers())
				sorted.put(container.getContainerId(), container);
			for (RMContainer container : sorted.values())
			{
				String name = container.getContainerId().toString();
				String queue = attempt.getCSLeafQueue().getQueuePath();
				ObjectNode row = Oracle.JSON.createObjectNode();

				now.put(name, queue);
				if (!containers.containsKey(name))
				{
					row.put("start", name).put("app", application.getKey()).put("user", attempt.getUser()).put("queue", queue)
						.put("node", container.getAllocatedNode().getHost());
					row.putArray("amount").add(container.getAllocatedResource().getMemorySize()).add(container.getAllocatedResource().getVirtualCores());
					step.withArray("containers").add(row);
				}
				else if (!containers.get(name).equals(queue))
					step.withArray("containers").addObject().put("change", name).put("queue", queue);
			}
		}
		for (String name : containers.keySet())
			if (!now.containsKey(name))
				step.withArray("containers").addObject().put("end", name);
		containers = now;
	}

	/**
	 * Puts the applications whose requests have begun or ceased to count as demand. An application
	 * is taken to count until a step says that it does not.
	 */
	private void putOutstanding(ObjectNode step)
	{
		Map<Integer, Boolean> now = new HashMap<>();

		for (Map.Entry<Integer, RMApp> application : cluster.applications().entrySet())
		{
			boolean counts = QueueBooks.countsAsDemand(cluster.attempt(application.getValue()));

			now.put(application.getKey(), counts);
			if (outstanding.getOrDefault(application.getKey(), true) != counts)
				step.with("outstanding").put(application.getKey().toString(), counts);
		}
		outstanding = now;
	}

	private static void putChanges(ObjectNode to, String name, Map<String, String> before, Map<String, String> after)
	{
		for (Map.Entry<String, String> row : after.entrySet())
			if (!row.getValue().equals(before.get(row.getKey())))
				to.with(name).put(row.getKey(), row.getValue());
		for (String key : before.keySet())
			if (!after.containsKey(key))
				to.with(name).putNull(key);
	}

	private Map<String, String> facts()
	{
		Map<String, String> facts = new TreeMap<>();

		for (int number : refused)
			facts.put("app " + number, "REJECTED");
		for (RMApp application : cluster.manager.getRMContext().getRMApps().values())
			facts.putIfAbsent("app " + application.getApplicationId().getId(), application(application));
		for (CSQueue queue : cluster.queues().values())
		{
			facts.put("queue " + queue.getQueuePath(), queue.getState() + (isDynamic(queue) ? " dynamic " : " ") + applications(queue));
			if (queue instanceof AbstractLeafQueue)
			{
				AbstractLeafQueue leaf = (AbstractLeafQueue) queue;

				facts.put("leaf " + queue.getQueuePath(), leaf.getNumPendingApplications() + " accepted " + leaf.getNumActiveApplications() + " active " +
					QueueBooks.held(leaf) + " held");
				for (String label : cluster.labels)
					facts.put("am " + queue.getQueuePath() + " <" + label + ">", amounts(leaf.getQueueResourceUsage().getAMUsed(label)));
			}
		}
		return facts;
	}

	private static boolean isDynamic(CSQueue queue)
	{
		return queue instanceof AutoCreatedLeafQueue || ((AbstractCSQueue) queue).isDynamicQueue();
	}

	/**
	 * Returns the number of applications in a queue, for a parent as the sum of its leaves.
	 * Hadoop's own count of a parent includes applications that were refused or have moved away.
	 */
	private static int applications(CSQueue queue)
	{
		int applications = 0;

		if (queue instanceof AbstractLeafQueue)
			return ((AbstractLeafQueue) queue).getNumApplications();
		for (CSQueue child : queue.getChildQueues())
			applications += applications(child);
		return applications;
	}

	private String application(RMApp application)
	{
		FiCaSchedulerApp attempt = cluster.attempt(application);
		Long expires = application.getApplicationTimeouts().get(ApplicationTimeoutType.LIFETIME);
		String label;

		if (attempt == null)
			return "ENDED";
		label = attempt.getAppAMNodePartitionName();
		return (!attempt.isRunnable() ? "NON_RUNNABLE " : Cluster.isActive(attempt) ? "ACTIVE " : "ACCEPTED ") + attempt.getCSLeafQueue().getQueuePath() +
			" " + application.getApplicationPriority().getPriority() + " " + (expires == null ? "-" : (expires - application.getSubmitTime()) / 1000) +
			" " + amounts(attempt.getAMResource(label)) + " <" + label + ">";
	}

	private Map<String, String> figures()
	{
		Map<String, String> figures = new TreeMap<>();

		for (CSQueue queue : cluster.queues().values())
			for (String label : cluster.labels)
				putFigures(figures, queue, label);
		for (Map.Entry<Integer, RMApp> application : cluster.applications().entrySet())
		{
			FiCaSchedulerApp attempt = cluster.attempt(application.getValue());

			if (attempt.isRunnable())
				for (String label : cluster.labels)
					putUser(figures, attempt.getCSLeafQueue(), attempt.getUser(), label);
			if (Cluster.isActive(attempt))
				figures.put("headroom " + application.getKey() + " <" + String.join(",", new TreeSet<>(attempt.getAppSchedulingInfo().getRequestedPartitions())) + ">",
					amounts(attempt.getHeadroom()));
		}
		return figures;
	}

	private static void putFigures(Map<String, String> figures, CSQueue queue, String label)
	{
		String place = queue.getQueuePath() + " <" + label + ">";

		figures.put("figures " + place, amounts(queue.getQueueResourceQuotas().getEffectiveMinResource(label)) + " " +
			amounts(queue.getQueueResourceQuotas().getEffectiveMaxResource(label)) + " used " + amounts(queue.getQueueResourceUsage().getUsed(label)));
		if (!(queue instanceof AbstractLeafQueue))
			return;
		AbstractLeafQueue leaf = (AbstractLeafQueue) queue;

		figures.put("am_limit " + place, amounts(Cluster.mayUse(queue, label) ? leaf.calculateAndGetAMResourceLimitPerPartition(label) : Resources.none()));
		if (label.isEmpty())
			figures.put("limits " + queue.getQueuePath(), leaf.getMaxApplications() + " " + leaf.getMaxApplicationsPerUser());
	}

	private void putUser(Map<String, String> figures, AbstractLeafQueue queue, String name, String label)
	{
		Resource total = cluster.scheduler.getClusterResource();
		UsersManager.User user = queue.getUser(name);

		figures.put("user " + queue.getQueuePath() + " " + name + " <" + label + ">", "used " + amounts(user.getUsed(label)) +
			" limit " + amounts(queue.getResourceLimitForActiveUsers(name, total, label, SchedulingMode.RESPECT_PARTITION_EXCLUSIVITY)) +
			" all " + amounts(queue.getResourceLimitForAllUsers(name, total, label, SchedulingMode.RESPECT_PARTITION_EXCLUSIVITY)) +
			" any " + amounts(queue.getResourceLimitForActiveUsers(name, total, label, SchedulingMode.IGNORE_PARTITION_EXCLUSIVITY)));
	}

	private static String amounts(Resource resource)
	{
		return resource.getMemorySize() + "," + resource.getVirtualCores();
	}
}
