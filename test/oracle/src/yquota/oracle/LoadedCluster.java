package yquota.oracle;

import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;
import static org.mockito.Mockito.withSettings;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.RMContextImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.SchedulingMode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ContainerAllocationProposal;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ResourceCommitRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.SchedulerContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;

/**
 * A cluster whose applications are known only to the scheduler, so that a master may end while its
 * application stays. Applications and containers come into it by submissions and heartbeats, or by
 * recovery as in a resource manager that was restarted. Time is virtual.
 */
final class LoadedCluster implements AutoCloseable
{
	private static final Priority MASTER = Priority.newInstance(0);

	final Cluster cluster;
	/** Milliseconds. */
	long now;
	private final boolean labelled;
	private final Map<Integer, ObjectNode> submissions = new TreeMap<>();
	private final Map<Integer, Container> masters = new HashMap<>();
	private final Map<ContainerId, Long> created = new HashMap<>();

	LoadedCluster(JsonNode workload) throws Exception
	{
		ObjectNode properties = workload.get("conf").deepCopy();

		properties.put("yarn.node-labels.enabled", true);
		properties.put("yarn.resourcemanager.scheduler.monitor.enable", true);
		properties.put("yarn.resourcemanager.scheduler.monitor.policies", IdlePolicy.class.getName());
		labelled = workload.path("labels").size() > 0;
		cluster = new Cluster(properties, workload.has("labels") ? workload.get("labels") : Oracle.JSON.createArrayNode());
		((RMContextImpl) cluster.manager.getRMContext()).setWorkPreservingRecoveryEnabled(true);
		for (JsonNode node : workload.get("nodes"))
			cluster.addNode(node.get("id").asText(), "/rack", node.path("label").asText(""), amounts(node.get("res")));
	}

	@Override
	public void close()
	{
		cluster.close();
	}

	/** Reads an array with the amounts of all resource types, in their order. */
	static Resource amounts(JsonNode amounts)
	{
		Resource resource = Resource.newInstance(amounts.get(0).asLong(), amounts.get(1).asInt());
		ResourceInformation[] types = resource.getResources();

		for (int i = 2; i < types.length; i++)
			resource.setResourceValue(types[i].getName(), amounts.path(i).asLong());
		return resource;
	}

	private static ArrayNode amounts(Resource resource)
	{
		ArrayNode amounts = Oracle.JSON.createArrayNode();

		for (ResourceInformation information : resource.getResources())
			amounts.add(information.getValue());
		return amounts;
	}

	static String name(ContainerId id)
	{
		return id.getApplicationAttemptId().getApplicationId().getId() + "." + id.getContainerId();
	}

	private static ContainerId id(String name)
	{
		int dot = name.indexOf('.');

		return ContainerId.newContainerId(attemptId(Integer.parseInt(name.substring(0, dot))), Long.parseLong(name.substring(dot + 1)));
	}

	private static ApplicationAttemptId attemptId(int number)
	{
		return ApplicationAttemptId.newInstance(Cluster.applicationId(number), 1);
	}

	FiCaSchedulerApp attempt(int number)
	{
		return cluster.scheduler.getApplicationAttempt(attemptId(number));
	}

	private FiCaSchedulerNode node(String name)
	{
		return cluster.scheduler.getNode(cluster.nodes.get(name).getNodeID());
	}

	/**
	 * Submits an application and asks for its master. If the scheduler refuses the application, the
	 * cluster does not know it afterwards.
	 */
	void submit(ObjectNode row)
	{
		int number = row.get("app").asInt();
		ApplicationId id = Cluster.applicationId(number);
		ResourceRequest master = ResourceRequest.newInstance(MASTER, ResourceRequest.ANY, amounts(row.get("am")), 1, true, row.path("am_label").asText(""));
		ApplicationSubmissionContext context = ApplicationSubmissionContext.newInstance(id, "app", row.get("queue").asText(),
			Priority.newInstance(row.path("priority").asInt()), null, false, false, 1, amounts(row.get("am")), "test");
		RMApp application = mock(RMApp.class, withSettings().stubOnly());
		RMAppAttempt attempt = mock(RMAppAttempt.class, withSettings().stubOnly());

		when(attempt.getMasterContainer()).thenAnswer(call -> masters.get(number));
		when(attempt.getRMAppAttemptMetrics()).thenReturn(mock(RMAppAttemptMetrics.class, withSettings().stubOnly()));
		when(attempt.getAppAttemptId()).thenReturn(attemptId(number));
		when(application.getAMResourceRequests()).thenReturn(Collections.singletonList(master));
		when(application.getCurrentAppAttempt()).thenReturn(attempt);
		when(application.getApplicationSchedulingEnvs()).thenReturn(new HashMap<>());
		when(application.getUser()).thenReturn(row.get("user").asText());
		when(application.getApplicationId()).thenReturn(id);
		when(application.getApplicationSubmissionContext()).thenReturn(context);
		cluster.manager.getRMContext().getRMApps().put(id, application);
		cluster.scheduler.handle(new AppAddedSchedulerEvent(row.get("user").asText(), context, false, context.getPriority()));
		cluster.scheduler.handle(new AppAttemptAddedSchedulerEvent(attemptId(number), false));
		if (attempt(number) == null)
		{
			cluster.manager.getRMContext().getRMApps().remove(id);
			return;
		}
		submissions.put(number, row);
		allocate(number, ResourceRequest.clone(master));
	}

	private void allocate(int number, ResourceRequest... asks)
	{
		List<ResourceRequest> list = new ArrayList<>();

		Collections.addAll(list, asks);
		cluster.scheduler.allocate(attemptId(number), list, null, Collections.emptyList(), null, null, new ContainerUpdates());
	}

	/** Asks for containers at a priority. The row has the fields prio, res, n and label. */
	void ask(int number, JsonNode row)
	{
		if (submissions.containsKey(number))
			allocate(number, ResourceRequest.newInstance(Priority.newInstance(row.get("prio").asInt()), ResourceRequest.ANY, amounts(row.get("res")),
				row.get("n").asInt(), row.path("relax").asBoolean(true), row.path("label").asText("")));
	}

	/**
	 * Sends a heartbeat of a node, and lets the applications fetch the new containers. Each new
	 * container gets the virtual time, which then advances by a millisecond.
	 */
	void heartbeat(String node)
	{
		cluster.scheduler.handle(new NodeUpdateSchedulerEvent(cluster.nodes.get(node)));
		note();
	}

	void note()
	{
		for (int number : submissions.keySet())
		{
			boolean fetch = false;

			for (RMContainer container : containers(number))
			{
				if (!created.containsKey(container.getContainerId()))
					created.put(container.getContainerId(), now++);
				if (container.getState() == RMContainerState.ALLOCATED)
				{
					fetch = true;
					if (masters.putIfAbsent(number, container.getContainer()) == null)
						((RMContainerImpl) container).setAMContainer(true);
				}
			}
			if (fetch)
				allocate(number);
		}
	}

	/**
	 * Sends heartbeats of all nodes, in up to so many rounds. Ends earlier after several rounds
	 * that changed nothing.
	 */
	void fill(int passes)
	{
		int enough = labelled ? cluster.nodes.size() + 3 : 2;
		int quiet = 0;

		for (int i = 0; i < passes && quiet < enough; i++)
		{
			List<Integer> before = counts();

			for (String node : byNumber())
				heartbeat(node);
			quiet = counts().equals(before) ? quiet + 1 : 0;
		}
	}

	private List<String> byNumber()
	{
		List<String> names = new ArrayList<>(cluster.nodes.keySet());

		names.sort(Comparator.comparingInt(String::length).thenComparing(Comparator.naturalOrder()));
		return names;
	}

	private List<Integer> counts()
	{
		List<Integer> counts = new ArrayList<>();

		for (int number : submissions.keySet())
		{
			counts.add(attempt(number).getLiveContainers().size());
			counts.add(attempt(number).getReservedContainers().size());
		}
		return counts;
	}

	/** Returns an application's containers and reservations, sorted by their numbers. */
	private List<RMContainer> containers(int number)
	{
		List<RMContainer> containers = new ArrayList<>(attempt(number).getLiveContainers());

		containers.addAll(attempt(number).getReservedContainers());
		containers.sort(Comparator.comparing(RMContainer::getContainerId));
		return containers;
	}

	/** Ends some containers of an application, its newest or its oldest. The master's container stays. */
	void finishSome(int number, int count, boolean newest)
	{
		List<RMContainer> some = submissions.containsKey(number) ? new ArrayList<>(attempt(number).getLiveContainers()) : new ArrayList<>();

		some.removeIf(RMContainer::isAMContainer);
		some.sort(Comparator.comparing(RMContainer::getContainerId));
		if (newest)
			Collections.reverse(some);
		for (RMContainer container : some.subList(0, Math.min(count, some.size())))
			end(name(container.getContainerId()));
	}

	/** Ends a container, or gives up a reservation. */
	void end(String name)
	{
		int number = Integer.parseInt(name.substring(0, name.indexOf('.')));

		containers(number).stream().filter(container -> name(container.getContainerId()).equals(name)).forEach(this::end);
	}

	private void end(RMContainer container)
	{
		boolean reserved = container.getState() == RMContainerState.RESERVED;

		cluster.scheduler.completedContainer(container, ContainerStatus.newInstance(container.getContainerId(), ContainerState.COMPLETE, "", 0),
			reserved ? RMContainerEventType.KILL : RMContainerEventType.FINISHED);
		if (!reserved)
			release(container);
	}

	/**
	 * Frees the container's room on its node. In a cluster, a node keeps the room of a started
	 * container until the node reports the end; here it reports at once.
	 */
	void release(RMContainer container)
	{
		cluster.scheduler.getNode(container.getAllocatedNode()).releaseContainer(container.getContainerId(), true);
	}

	/** Gives the cluster these applications, outstanding requests and containers. */
	void become(Map<Integer, ObjectNode> applications, Map<String, ObjectNode> wanted)
	{
		Map<String, ObjectNode> present = containerRows();
		List<ObjectNode> missing = new ArrayList<>();

		present.keySet().stream().filter(name -> !present.get(name).equals(wanted.get(name))).forEach(this::end);
		wanted.forEach((name, row) ->
		{
			if (!row.equals(present.get(name)))
				missing.add(row);
		});
		missing.sort(Comparator.comparingLong(row -> row.get("created").asLong()));
		submitMissing(applications, true);
		missing.stream().filter(row -> !row.path("reserved").asBoolean()).forEach(this::start);
		submitMissing(applications, false);
		applications.forEach(this::askFor);
		missing.stream().filter(row -> row.path("reserved").asBoolean()).forEach(this::reserve);
	}

	private void submitMissing(Map<Integer, ObjectNode> applications, boolean active)
	{
		applications.forEach((number, row) ->
		{
			if (!submissions.containsKey(number) && row.get("active").asBoolean() == active)
				submit(row);
		});
	}

	private Container container(ObjectNode row)
	{
		return BuilderUtils.newContainer(id(row.get("id").asText()), cluster.nodes.get(row.get("node").asText()).getNodeID(), "", amounts(row.get("res")),
			Priority.newInstance(row.get("prio").asInt()), null);
	}

	/**
	 * Starts a container by recovery, as when a node reports it to a resource manager that was
	 * restarted.
	 */
	void start(ObjectNode row)
	{
		ContainerId id = id(row.get("id").asText());

		if (row.path("am").asBoolean())
			masters.put(id.getApplicationAttemptId().getApplicationId().getId(), container(row));
		created.put(id, row.get("created").asLong());
		cluster.scheduler.recoverContainersOnNode(Collections.singletonList(NMContainerStatus.newInstance(id, 0, ContainerState.RUNNING, amounts(row.get("res")), "", 0,
			Priority.newInstance(row.get("prio").asInt()), 0, row.path("label").asText(""), ExecutionType.GUARANTEED, -1)), cluster.nodes.get(row.get("node").asText()));
		// Fair order learns of a container only where it is allocated, so a recovered container is
		// reported to it here.
		FiCaSchedulerApp attempt = cluster.scheduler.getApplicationAttempt(id.getApplicationAttemptId());

		attempt.getCSLeafQueue().getOrderingPolicy().containerAllocated(attempt, cluster.scheduler.getRMContainer(id));
	}

	/** Makes a reservation as Hadoop does when it finds no room for an allocation. */
	private void reserve(ObjectNode row)
	{
		ContainerId id = id(row.get("id").asText());
		FiCaSchedulerApp attempt = cluster.scheduler.getApplicationAttempt(id.getApplicationAttemptId());
		FiCaSchedulerNode node = node(row.get("node").asText());
		SchedulerRequestKey key = attempt.getAppSchedulingInfo().getSchedulerKeys().stream()
			.filter(one -> one.getPriority().getPriority() == row.get("prio").asInt()).findFirst().orElseThrow();
		RMContainer container = new RMContainerImpl(container(row), key, id.getApplicationAttemptId(), node.getNodeID(), attempt.getUser(),
			cluster.manager.getRMContext(), row.path("label").asText(""));
		Resource resource = amounts(row.get("res"));

		created.put(id, row.get("created").asLong());
		cluster.scheduler.tryCommit(cluster.scheduler.getClusterResource(), new ResourceCommitRequest<>(null, Collections.singletonList(
			new ContainerAllocationProposal<>(new SchedulerContainer<>(attempt, node, container, node.getPartition(), false), null, null,
				NodeType.OFF_SWITCH, NodeType.OFF_SWITCH, SchedulingMode.RESPECT_PARTITION_EXCLUSIVITY, resource)), null), true);
	}

	/** Changes the outstanding requests to those of the row. */
	private void askFor(int number, ObjectNode row)
	{
		Map<Integer, JsonNode> wanted = new LinkedHashMap<>();

		for (JsonNode ask : row.path("pending"))
			wanted.put(ask.get("prio").asInt(), ask);
		for (JsonNode ask : pending(number))
		{
			JsonNode instead = wanted.get(ask.get("prio").asInt());

			if (instead == null)
				ask(number, ((ObjectNode) ask).put("n", 0));
			else if (instead.equals(ask))
				wanted.remove(ask.get("prio").asInt());
		}
		wanted.values().forEach(ask -> ask(number, ask));
	}

	private ArrayNode pending(int number)
	{
		ArrayNode pending = Oracle.JSON.createArrayNode();

		for (ResourceRequest request : attempt(number).getAppSchedulingInfo().getAllResourceRequests())
		{
			if (!request.getResourceName().equals(ResourceRequest.ANY) || request.getNumContainers() == 0)
				continue;
			ObjectNode row = pending.addObject().put("prio", request.getPriority().getPriority());

			row.set("res", amounts(request.getCapability()));
			row.put("n", request.getNumContainers());
			if (request.getNodeLabelExpression() != null && !request.getNodeLabelExpression().isEmpty())
				row.put("label", request.getNodeLabelExpression());
			if (!request.getRelaxLocality())
				row.put("relax", false);
		}
		return pending;
	}

	Map<Integer, ObjectNode> applicationRows()
	{
		Map<Integer, ObjectNode> rows = new TreeMap<>();

		submissions.forEach((number, submission) ->
		{
			FiCaSchedulerApp attempt = attempt(number);
			ObjectNode row = Oracle.JSON.createObjectNode().put("app", number).put("queue", attempt.getCSLeafQueue().getQueuePath())
				.put("user", attempt.getUser()).put("priority", attempt.getPriority().getPriority());

			row.set("am", submission.get("am"));
			if (submission.has("am_label"))
				row.set("am_label", submission.get("am_label"));
			row.put("active", Cluster.isActive(attempt));
			if (attempt.isWaitingForAMContainer())
				row.put("waiting_for_am", true);
			if (pending(number).size() > 0)
				row.set("pending", pending(number));
			rows.put(number, row);
		});
		return rows;
	}

	/** Returns the rows of all containers, sorted by application and number. */
	Map<String, ObjectNode> containerRows()
	{
		Map<String, ObjectNode> rows = new LinkedHashMap<>();

		for (int number : submissions.keySet())
			for (RMContainer container : containers(number))
				rows.put(name(container.getContainerId()), row(container));
		return rows;
	}

	private ObjectNode row(RMContainer container)
	{
		boolean reserved = container.getState() == RMContainerState.RESERVED;
		ObjectNode row = Oracle.JSON.createObjectNode().put("id", name(container.getContainerId()))
			.put("node", (reserved ? container.getReservedNode() : container.getAllocatedNode()).getHost());

		row.set("res", amounts(reserved ? container.getReservedResource() : container.getAllocatedResource()));
		row.put("prio", container.getAllocatedSchedulerKey().getPriority().getPriority()).put("created", created.get(container.getContainerId()).longValue());
		if (container.isAMContainer())
			row.put("am", true);
		if (reserved)
			row.put("reserved", true);
		if (container.getNodeLabelExpression() != null && !container.getNodeLabelExpression().isEmpty())
			row.put("label", container.getNodeLabelExpression());
		// The row is written and read again, so that its numbers have the types that the reader
		// gives them.
		return Preemption.reread(row);
	}

	/** Makes each container as old by the machine's clock as it is in virtual time. */
	void age() throws ReflectiveOperationException
	{
		Field field = RMContainerImpl.class.getDeclaredField("creationTime");
		long wall = System.currentTimeMillis();

		field.setAccessible(true);
		for (int number : submissions.keySet())
			for (RMContainer container : containers(number))
				field.setLong(container, wall - (now - created.get(container.getContainerId())));
	}
}
