package yquota.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.UpdateApplicationPriorityRequest;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerError;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException;
import org.apache.hadoop.yarn.server.resourcemanager.RMServerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.SchedulingMode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.scheduler.OpportunisticContainerAllocator;
import org.apache.hadoop.yarn.server.scheduler.OpportunisticContainerContext;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * The area "allocation": which application gets the next container. Its records are in
 * test/scheduler/decisions.jsonl.
 */
public final class Allocation implements Area
{
	/** Fields of a step that are results. All other fields are input. */
	private static final String[] RESULTS = {"decided", "reserved", "state", "figures", "failed", "refused", "is", "errors", "attempt"};

	private Cluster cluster;
	private final List<Container> reduced = new ArrayList<>();

	public static void main(String[] arguments) throws Exception
	{
		Oracle.main(new Allocation(), arguments);
	}

	@Override
	public String[] families()
	{
		return AllocationWorkload.FAMILIES;
	}

	@Override
	public ObjectNode generate(String family, long seed)
	{
		return new AllocationWorkload(family, seed).make();
	}

	@Override
	public ObjectNode record(ObjectNode workload) throws Exception
	{
		ObjectNode record = workload.deepCopy();
		ArrayNode steps = record.putArray("steps");
		String state = "";

		try (Cluster started = new Cluster(workload.get("properties"), workload.get("labels")))
		{
			cluster = started;
			reduced.clear();
			for (JsonNode node : workload.get("nodes"))
				cluster.addNode(node.get("name").asText(), rack(node), node.path("label").asText(""), Amounts.read(node));
			for (JsonNode given : workload.get("steps"))
			{
				ObjectNode step = given.deepCopy();

				step.remove(Arrays.asList(RESULTS));
				if (!play(step))
					continue;
				if (cluster.scheduler.hasSpared())
					break;
				String after = state();
				putReservations(step);
				if (!after.equals(state))
					step.put("state", after);
				state = after;
				steps.add(step);
			}
		}
		return record;
	}

	/** Returns the rack of a node. In the oldest records it follows from the node's number. */
	private static String rack(JsonNode node)
	{
		if (node.has("rack"))
			return node.get("rack").asText();
		String name = node.get("name").asText();

		return "/rack" + Integer.parseInt(name.substring(1)) % (name.startsWith("n") ? 3 : 10);
	}

	/**
	 * Plays a step. Returns false if the step had nothing to do: no container is left that could
	 * end, or the application cannot ask.
	 */
	private boolean play(ObjectNode step) throws Exception
	{
		String operation = step.get("do").asText();
		int number = step.path("app").asInt();
		Set<String> before = containers();
		Set<Integer> failed = failed();

		if (operation.equals("asks") && !mayAsk(number))
			return false;
		cluster.scheduler.takeDecisions();
		switch (operation)
		{
			case "submit":
				submit(step);
				break;
			case "asks":
				ask(step);
				break;
			case "update":
				update(step);
				break;
			case "blacklist":
				allocate(number, Collections.emptyList(), strings(step.get("add")), strings(step.get("remove")), new ContainerUpdates());
				break;
			case "priority":
				changePriority(number, step.get("priority").asInt());
				break;
			case "finish":
				cluster.manager.killApp(Cluster.applicationId(number));
				break;
			case "failmaster":
				failMaster(step);
				break;
			case "end":
				if (!end(step))
					return false;
				break;
			case "killable":
				if (!choose(step, "killable"))
					return false;
				for (JsonNode container : step.get("killable"))
					cluster.scheduler.makeKillable(cluster.scheduler.getRMContainer(ContainerId.fromString(container.asText())));
				break;
			case "heartbeat":
				cluster.heartbeat(step.get("node").asText());
				break;
			case "heartbeats":
				for (JsonNode node : step.get("nodes"))
					cluster.heartbeat(node.asText());
				break;
			case "refresh":
				cluster.refresh(step.get("properties"));
				break;
			case "figures":
				cluster.update();
				break;
			default:
				changeNode(operation, step);
		}
		cluster.settle();
		fetch();
		putOutcome(step, operation, before, failed);
		return true;
	}

	/**
	 * Returns whether an application can ask. The generator cannot know when a master gets its
	 * container, or whether an application is active.
	 */
	private boolean mayAsk(int number)
	{
		FiCaSchedulerApp attempt = cluster.attempt(number);

		return attempt != null && Cluster.isActive(attempt) && !attempt.isWaitingForAMContainer();
	}

	private void submit(ObjectNode step) throws Exception
	{
		ApplicationSubmissionContext context = ApplicationSubmissionContext.newInstance(Cluster.applicationId(step.get("app").asInt()), "app",
			step.get("queue").asText(), Priority.newInstance(step.path("priority").asInt()),
			ContainerLaunchContext.newInstance(null, null, null, null, null, null),
			step.path("unmanaged").asBoolean(), false, step.path("attempts").asInt(1), Amounts.read(step.get("am")), "test",
			step.path("keep").asBoolean());

		if (step.hasNonNull("expression"))
			context.setNodeLabelExpression(step.get("expression").asText());
		if (step.hasNonNull("label"))
		{
			ResourceRequest master = ResourceRequest.newInstance(Priority.newInstance(0), ResourceRequest.ANY, Amounts.read(step.get("am")), 1);

			master.setNodeLabelExpression(step.get("label").asText());
			context.setAMContainerResourceRequests(Collections.singletonList(master));
		}
		String refused = cluster.submit(context, step.get("user").asText());
		RMApp application = cluster.manager.getRMContext().getRMApps().get(context.getApplicationId());

		if (refused != null)
			step.put("refused", refused);
		else if (application.getState() == RMAppState.FAILED)
			step.put("is", "FAILED");
	}

	private void ask(ObjectNode step) throws Exception
	{
		int number = step.get("app").asInt();
		FiCaSchedulerApp attempt = cluster.attempt(number);
		String queue = ((CSQueue) attempt.getQueue()).getQueuePath();
		List<ResourceRequest> asks = new ArrayList<>();

		for (JsonNode row : step.get("asks"))
		{
			ResourceRequest ask = ResourceRequest.newInstance(Priority.newInstance(row.get("priority").asInt()), row.get("name").asText(), Amounts.read(row),
				row.get("count").asInt(), row.path("relax").asBoolean(true));

			ask.setAllocationRequestId(row.path("id").asLong(-1));
			if (row.get("name").asText().equals(ResourceRequest.ANY))
				ask.setNodeLabelExpression(row.hasNonNull("label") ? row.get("label").asText() : cluster.application(number).getApplicationSubmissionContext().getNodeLabelExpression());
			asks.add(ask);
		}
		try
		{
			RMServerUtils.normalizeAndValidateRequests(asks, cluster.scheduler.getMaximumResourceCapability(queue), queue, cluster.scheduler,
				cluster.manager.getRMContext(), YarnConfiguration.areNodeLabelsEnabled(cluster.manager.getConfig()));
			allocate(number, asks, null, null, new ContainerUpdates());
		}
		catch (InvalidResourceRequestException e)
		{
			step.put("refused", true);
		}
	}

	private void update(ObjectNode step)
	{
		int number = step.get("app").asInt();
		String queue = ((CSQueue) cluster.attempt(number).getQueue()).getQueuePath();
		List<UpdateContainerRequest> requests = new ArrayList<>();
		List<UpdateContainerError> errors = new ArrayList<>();

		numberDemoted(cluster.attempt(number));
		for (JsonNode row : step.get("chosen"))
			requests.add(UpdateContainerRequest.newInstance(row.get("version").asInt(), ContainerId.fromString(row.get("container").asText()),
				ContainerUpdateType.valueOf(row.get("type").asText()), row.has("memory") ? Amounts.read(row) : null,
				row.has("execution") ? ExecutionType.valueOf(row.get("execution").asText()) : null));
		ContainerUpdates updates = RMServerUtils.validateAndSplitUpdateResourceRequests(cluster.manager.getRMContext(),
			AllocateRequest.newBuilder().updateRequests(requests).build(), cluster.scheduler.getMaximumResourceCapability(queue), errors);
		allocate(number, Collections.emptyList(), null, null, updates);
		if (!errors.isEmpty())
		{
			Set<String> sorted = new TreeSet<>();

			for (UpdateContainerError error : errors)
				sorted.add(error.getReason() + " " + error.getUpdateContainerRequest().getContainerId());
			sorted.forEach(step.putArray("errors")::add);
		}
	}

	/**
	 * Sets what Hadoop needs to give a demoted container a number. In a cluster, the service of
	 * opportunistic containers sets it when a master registers.
	 */
	private static void numberDemoted(FiCaSchedulerApp attempt)
	{
		OpportunisticContainerContext context = new OpportunisticContainerContext();

		context.setContainerIdGenerator(new OpportunisticContainerAllocator.ContainerIdGenerator()
		{
			@Override
			public long generateContainerId()
			{
				return attempt.getAppSchedulingInfo().getNewContainerId();
			}
		});
		if (attempt.getOpportunisticContainerContext() == null)
			attempt.setOpportunisticContainerContext(context);
	}

	private void changePriority(int number, int priority) throws Exception
	{
		cluster.call(cluster.application(number).getUser(), client -> client.updateApplicationPriority(
			UpdateApplicationPriorityRequest.newInstance(Cluster.applicationId(number), Priority.newInstance(priority))));
	}

	private void failMaster(ObjectNode step) throws Exception
	{
		RMApp application = cluster.application(step.get("app").asInt());

		complete(application.getCurrentAppAttempt().getMasterContainer().getId(), 1);
		cluster.settle();
		if (cluster.attempt(application) != null)
			step.put("attempt", application.getCurrentAppAttempt().getAppAttemptId().getAttemptId());
	}

	/**
	 * Sets the containers of a step: those that it names, or else "count" random running containers
	 * that are no masters. Returns false when there is none.
	 */
	private boolean choose(ObjectNode step, String list)
	{
		if (!step.has(list))
		{
			List<String> candidates = new ArrayList<>(containers());

			for (RMApp application : cluster.applications().values())
				if (application.getCurrentAppAttempt().getMasterContainer() != null)
					candidates.remove(application.getCurrentAppAttempt().getMasterContainer().getId().toString());
			// Preemption does not mark a killable container again; if it did, the queues would
			// count the container twice.
			if (list.equals("killable"))
				candidates.removeIf(cluster.scheduler::isKillable);
			Collections.shuffle(candidates, new Random(step.remove("salt").asLong()));
			int count = Math.min(candidates.size(), step.remove("count").asInt());
			candidates.subList(0, count).forEach(step.putArray(list)::add);
		}
		return step.get(list).size() > 0;
	}

	private boolean end(ObjectNode step)
	{
		if (!choose(step, "ended"))
			return false;
		for (JsonNode container : step.get("ended"))
			complete(ContainerId.fromString(container.asText()), 0);
		return true;
	}

	private void complete(ContainerId id, int status)
	{
		RMContainer container = cluster.scheduler.getRMContainer(id);

		if (container != null)
			cluster.scheduler.completedContainer(container, ContainerStatus.newInstance(id, ContainerState.COMPLETE, "", status), RMContainerEventType.FINISHED);
	}

	private void changeNode(String operation, ObjectNode step) throws Exception
	{
		String name = step.get("node").asText();

		switch (operation)
		{
			case "add":
				cluster.addNode(name, step.get("rack").asText(), step.path("label").asText(""), Amounts.read(step));
				break;
			case "lose":
				cluster.removeNode(name);
				break;
			case "resize":
				cluster.resizeNode(name, Amounts.read(step));
				break;
			case "relabel":
				cluster.labelNode(name, step.get("label").asText());
				break;
			default:
				throw new IllegalArgumentException(operation);
		}
	}

	private void allocate(int number, List<ResourceRequest> asks, List<String> add, List<String> remove, ContainerUpdates updates)
	{
		allocate(cluster.attempt(number), asks, add, remove, updates);
	}

	/** Sends an application's heartbeat. Containers that the application gets start to run at once. */
	private void allocate(FiCaSchedulerApp attempt, List<ResourceRequest> asks, List<String> add, List<String> remove, ContainerUpdates updates)
	{
		org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation answer =
			cluster.scheduler.allocate(attempt.getApplicationAttemptId(), asks, null, Collections.emptyList(), add, remove, updates);

		for (Container container : answer.getContainers())
		{
			RMContainer allocated = cluster.scheduler.getRMContainer(container.getId());

			if (allocated != null && allocated.getState() == RMContainerState.ACQUIRED)
				allocated.handle(new RMContainerEvent(container.getId(), RMContainerEventType.LAUNCHED));
		}
		for (List<Container> containers : Arrays.asList(answer.getDemotedContainers(), answer.getDecreasedContainers()))
			if (containers != null)
				reduced.addAll(containers);
	}

	private void fetch() throws Exception
	{
		for (RMApp application : cluster.applications().values())
			allocate(cluster.attempt(application), Collections.emptyList(), null, null, new ContainerUpdates());
		cluster.settle();
	}

	private Set<String> containers()
	{
		Set<String> containers = new TreeSet<>();

		for (RMApp application : cluster.applications().values())
			for (RMContainer container : cluster.attempt(application).getLiveContainers())
				containers.add(container.getContainerId().toString());
		return containers;
	}

	private Set<Integer> failed()
	{
		Set<Integer> failed = new TreeSet<>();

		for (RMApp application : cluster.manager.getRMContext().getRMApps().values())
			if (application.getState() == RMAppState.FAILED)
				failed.add(application.getApplicationId().getId());
		return failed;
	}

	private void putOutcome(ObjectNode step, String operation, Set<String> before, Set<Integer> failedBefore)
	{
		List<String> decided = cluster.scheduler.takeDecisions();
		Set<Integer> failed = failed();

		decided.addAll(takeReduced());
		if (!decided.isEmpty())
			decided.forEach(step.putArray("decided")::add);
		before.removeAll(containers());
		if (!operation.equals("end") && !before.isEmpty())
			before.forEach(step.putArray("ended")::add);
		else if (!operation.equals("end"))
			step.remove("ended");
		failed.removeAll(failedBefore);
		if (!operation.equals("submit") && !failed.isEmpty())
			failed.forEach(number -> step.withArray("failed").add(number.toString()));
		if (operation.equals("figures"))
			step.set("figures", figures());
	}

	/**
	 * Returns the containers that were demoted, then those whose size was decreased, since the last
	 * call.
	 */
	private Collection<String> takeReduced()
	{
		Set<String> texts = new TreeSet<>((a, b) -> a.charAt(2) == b.charAt(2) ? a.compareTo(b) : b.compareTo(a));

		for (Container container : reduced)
			texts.add((container.getExecutionType() == ExecutionType.OPPORTUNISTIC ? "demoted " : "decreased ") + container.getId() + " " +
				container.getNodeId().getHost() + " " + Amounts.of(container.getResource()) + " " + container.getVersion());
		reduced.clear();
		return texts;
	}

	private void putReservations(ObjectNode step)
	{
		for (String name : cluster.nodes.keySet())
		{
			RMContainer reserved = cluster.scheduler.getNode(cluster.nodes.get(name).getNodeID()).getReservedContainer();

			if (reserved != null)
				step.with("reserved").put(name, reserved.getApplicationAttemptId().getApplicationId().getId() + " " + Amounts.of(reserved.getReservedResource()));
		}
	}

	/**
	 * Returns what each application uses, has reserved and waits for, by label, and what each node
	 * has left.
	 */
	private String state()
	{
		List<String> parts = new ArrayList<>();

		for (Map.Entry<Integer, RMApp> application : cluster.applications().entrySet())
		{
			FiCaSchedulerApp attempt = cluster.attempt(application.getValue());
			StringBuilder text = new StringBuilder(application.getKey() + (Cluster.isActive(attempt) ? "" : "-"));

			for (String label : new TreeSet<>(cluster.labels))
			{
				Resource used = attempt.getAppAttemptResourceUsage().getUsed(label);
				Resource reserved = attempt.getAppAttemptResourceUsage().getReserved(label);
				Resource pending = pending(attempt, label);

				if (Amounts.anyOf(used) || Amounts.anyOf(reserved) || Amounts.anyOf(pending))
					text.append(" ").append(label.isEmpty() ? "*" : label).append(":")
						.append(String.join("/", Amounts.of(used), Amounts.of(reserved), Amounts.of(pending)));
			}
			parts.add(text.toString());
		}
		for (String name : cluster.nodes.keySet())
		{
			SchedulerNode node = cluster.scheduler.getNode(cluster.nodes.get(name).getNodeID());

			parts.add(name + " " + Amounts.of(node.getUnallocatedResource()));
		}
		return String.join("; ", parts);
	}

	/**
	 * Returns what the application itself asks for. The request for its master comes from the
	 * resource manager, so it is left out.
	 */
	private static Resource pending(FiCaSchedulerApp attempt, String label)
	{
		Resource pending = attempt.getAppAttemptResourceUsage().getPending(label);

		if (attempt.isWaitingForAMContainer() && label.equals(attempt.getAppAMNodePartitionName()))
			return Resources.subtract(pending, attempt.getAMResource(label));
		return pending;
	}

	private ObjectNode figures()
	{
		ObjectNode figures = Oracle.JSON.createObjectNode();

		for (CSQueue queue : cluster.queues().values())
			for (String label : cluster.labels)
			{
				Resource used = queue.getQueueResourceUsage().getUsed(label);
				Resource reserved = queue.getQueueResourceUsage().getReserved(label);

				if (Cluster.mayUse(queue, label) && (Amounts.anyOf(used) || Amounts.anyOf(reserved)))
					figures.put("queue " + queue.getQueuePath() + " <" + label + ">", "used " + Amounts.of(used) + " reserved " + Amounts.of(reserved));
			}
		for (CSQueue queue : cluster.queues().values())
			if (queue instanceof AbstractLeafQueue)
				putUsers(figures, (AbstractLeafQueue) queue);
		for (Map.Entry<Integer, RMApp> application : cluster.applications().entrySet())
			putHeadroom(figures, application.getKey(), cluster.attempt(application.getValue()));
		return figures;
	}

	private void putUsers(ObjectNode figures, AbstractLeafQueue queue)
	{
		Set<String> users = new TreeSet<>();
		Resource total = cluster.scheduler.getClusterResource();

		for (RMApp application : cluster.applications().values())
			if (cluster.attempt(application).getQueue() == queue)
				users.add(application.getUser());
		for (String user : users)
			for (String label : cluster.labels)
			{
				if (queue.getUser(user) == null || !label.isEmpty() && !queue.getQueueCapacities().getExistingNodeLabels().contains(label))
					continue;
				figures.put("user " + queue.getQueuePath() + " " + user + " <" + label + ">",
					"used " + Amounts.of(queue.getUser(user).getUsed(label)) +
					" limit " + Amounts.of(queue.getResourceLimitForActiveUsers(user, total, label, SchedulingMode.RESPECT_PARTITION_EXCLUSIVITY)) +
					" all " + Amounts.of(queue.getResourceLimitForAllUsers(user, total, label, SchedulingMode.RESPECT_PARTITION_EXCLUSIVITY)));
			}
	}

	/**
	 * Puts the headroom of an application. Hadoop adds up the headroom of all partitions that the
	 * application has ever asked for.
	 */
	private static void putHeadroom(ObjectNode figures, int number, FiCaSchedulerApp attempt)
	{
		Set<String> partitions = new TreeSet<>(attempt.getAppSchedulingInfo().getRequestedPartitions());

		if (Cluster.isActive(attempt))
			figures.put("headroom " + number + " <" + String.join(",", partitions) + ">", Amounts.of(attempt.getHeadroom()));
	}

	private static List<String> strings(JsonNode list)
	{
		List<String> strings = new ArrayList<>();

		for (JsonNode text : list)
			strings.add(text.asText());
		return strings;
	}
}
