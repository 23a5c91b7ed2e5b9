package yquota.oracle;

import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;
import static org.mockito.Mockito.withSettings;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.net.NodeBase;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceBlacklistRequest;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.security.ContainerTokenIdentifier;
import org.apache.hadoop.yarn.server.api.protocolrecords.RemoteNode;
import org.apache.hadoop.yarn.server.api.records.ContainerQueuingLimit;
import org.apache.hadoop.yarn.server.api.records.MasterKey;
import org.apache.hadoop.yarn.server.api.records.OpportunisticContainersStatus;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.distributed.CentralizedOpportunisticContainerAllocator;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.distributed.DrivenMonitor;
import org.apache.hadoop.yarn.server.scheduler.DistributedOpportunisticContainerAllocator;
import org.apache.hadoop.yarn.server.scheduler.OpportunisticContainerAllocator;
import org.apache.hadoop.yarn.server.scheduler.OpportunisticContainerContext;
import org.apache.hadoop.yarn.server.security.BaseContainerTokenSecretManager;

/** The area "opportunistic": the monitor of the nodes' queues, and the central and the distributed allocator. */
public final class Opportunistic implements Area
{
	private static final int PORT = 1234;

	private DrivenMonitor monitor;
	private OpportunisticContainerAllocator allocator;
	private boolean distributed;
	private final Map<Integer, OpportunisticContainerContext> contexts = new HashMap<>();
	private final Map<String, RMNode> nodes = new HashMap<>();

	public static void main(String[] arguments) throws Exception
	{
		Oracle.main(new Opportunistic(), arguments);
	}

	@Override
	public ObjectNode record(ObjectNode workload) throws Exception
	{
		ObjectNode record = workload.deepCopy();

		start(workload);
		for (JsonNode step : record.get("steps"))
			((ObjectNode) step).set("result", play(step, workload));
		record.remove("rack_order");
		// A workload without nodes has an order of racks, too: an empty one.
		if (!distributed)
		{
			ObjectNode order = record.putObject("rack_order");

			monitor.hostsByRack().forEach((rack, hosts) -> hosts.forEach(order.putArray(rack)::add));
		}
		return record;
	}

	private void start(ObjectNode workload)
	{
		int perHeartbeat = workload.path("max_per_heartbeat").asInt(-1);

		contexts.clear();
		nodes.clear();
		SecurityUtil.setTokenServiceUseIp(false);
		monitor = new DrivenMonitor(workload.path("comparator").asText("QUEUE_LENGTH"), workload.path("nodes_used").asInt(10), workload.path("seed").asLong());
		if (workload.has("limit"))
			monitor.initThresholdCalculator((float) workload.get("limit").get("sigma").asDouble(), workload.get("limit").get("min").asInt(),
				workload.get("limit").get("max").asInt());
		distributed = workload.path("mode").asText().equals("distributed");
		allocator = distributed ? new DistributedOpportunisticContainerAllocator(tokens(), perHeartbeat)
			: new CentralizedOpportunisticContainerAllocator(tokens(), perHeartbeat, monitor);
	}

	private static BaseContainerTokenSecretManager tokens()
	{
		MasterKey key = mock(MasterKey.class, withSettings().stubOnly());

		return new BaseContainerTokenSecretManager(new Configuration(false))
		{
			@Override
			public MasterKey getCurrentKey()
			{
				return key;
			}

			@Override
			public byte[] createPassword(ContainerTokenIdentifier identifier)
			{
				return new byte[1];
			}
		};
	}

	private static Resource amounts(JsonNode pair)
	{
		return pair == null ? null : Resource.newInstance(pair.get(0).asLong(), pair.get(1).asInt());
	}

	private static List<String> strings(JsonNode list)
	{
		List<String> strings = new ArrayList<>();

		list.forEach(text -> strings.add(text.asText()));
		return strings;
	}

	private static RMNode node(JsonNode step)
	{
		RMNode node = mock(RMNode.class, withSettings().stubOnly());
		String host = step.get("host").asText();
		OpportunisticContainersStatus status = OpportunisticContainersStatus.newInstance();

		NetUtils.addStaticResolution(host, "127.0.0.1");
		status.setEstimatedQueueWaitTime(step.path("wait").asInt());
		status.setWaitQueueLength(step.path("length").asInt());
		status.setOpportQueueCapacity(step.path("queue_capacity").asInt());
		when(node.getNodeID()).thenReturn(NodeId.newInstance(host, PORT));
		when(node.getHostName()).thenReturn(host);
		when(node.getRackName()).thenReturn(step.path("rack").asText("/r0"));
		when(node.getNode()).thenReturn(new NodeBase("/" + host));
		when(node.getHttpAddress()).thenReturn(host + ":80");
		when(node.getState()).thenReturn(NodeState.valueOf(step.path("state").asText("RUNNING")));
		when(node.getNodeLabels()).thenReturn(Collections.emptySet());
		when(node.getTotalCapability()).thenReturn(amounts(step.get("capability")));
		when(node.getAllocatedContainerResource()).thenReturn(amounts(step.get("allocated")));
		when(node.getOpportunisticContainersStatus()).thenReturn(status);
		return node;
	}

	private ObjectNode play(JsonNode step, JsonNode workload) throws Exception
	{
		ObjectNode result = Oracle.JSON.createObjectNode();

		switch (step.get("op").asText())
		{
			case "add":
				nodes.put(step.get("host").asText(), node(step));
				monitor.addNode(null, nodes.get(step.get("host").asText()));
				break;
			case "update":
				result.put("known", monitor.update(node(step)));
				break;
			case "remove":
				monitor.removeNode(nodes.get(step.get("host").asText()));
				break;
			case "sort":
				sort(result);
				break;
			case "select_local":
				putHost(result, monitor.selectLocalNode(step.get("where").asText(), new HashSet<>(strings(step.path("blacklist"))), amounts(step.get("res"))));
				break;
			case "select_rack":
				putHost(result, monitor.selectRackLocalNode(step.get("where").asText(), new HashSet<>(strings(step.path("blacklist"))), amounts(step.get("res"))));
				break;
			default:
				allocate(step, workload, result);
		}
		return result;
	}

	private static void putHost(ObjectNode result, RMNode node)
	{
		result.put("node", node == null ? "" : node.getHostName());
	}

	private void sort(ObjectNode result)
	{
		ArrayNode order = result.putArray("order");

		monitor.sort();
		monitor.selectNodes().forEach(id -> order.add(id.getHost()));
		if (monitor.getThresholdCalculator() != null)
		{
			ContainerQueuingLimit limit = monitor.getThresholdCalculator().createContainerQueuingLimit();

			result.put("max_queue_length", limit.getMaxQueueLength()).put("max_wait_ms", limit.getMaxQueueWaitTimeInMs());
		}
	}

	private void allocate(JsonNode step, JsonNode workload, ObjectNode result) throws Exception
	{
		int application = step.get("app").asInt();
		OpportunisticContainerContext context = contexts.computeIfAbsent(application, number -> context(workload));
		List<ResourceRequest> asks = new ArrayList<>();

		if (distributed && step.has("node_list"))
			context.updateNodeList(remoteNodes(step.get("node_list")));
		for (JsonNode ask : step.get("asks"))
			asks.add(ResourceRequest.newBuilder().priority(Priority.newInstance(ask.path("priority").asInt(1))).allocationRequestId(ask.path("id").asInt())
				.resourceName(ask.path("where").asText("*")).capability(amounts(ask.get("res"))).numContainers(ask.get("n").asInt())
				.nodeLabelExpression(ask.has("label") ? ask.get("label").asText() : null).relaxLocality(true)
				.executionType(ExecutionType.OPPORTUNISTIC).build());
		monitor.takeStarts();
		List<Container> containers = allocator.allocateContainers(
			ResourceBlacklistRequest.newInstance(strings(step.path("blacklist_add")), strings(step.path("blacklist_del"))), asks,
			ApplicationAttemptId.newInstance(ApplicationId.newInstance(0, application), 1), context, 1, "user");
		result.putArray("containers");
		for (Container container : containers)
			result.withArray("containers").addArray().add(container.getId().getContainerId()).add(container.getNodeId().getHost())
				.add(container.getPriority().getPriority()).add(container.getAllocationRequestId())
				.add(container.getResource().getMemorySize()).add(container.getResource().getVirtualCores());
		for (int start : monitor.takeStarts())
			result.withArray("any_starts").add(start);
		result.set("outstanding", outstanding(context));
		if (!distributed)
		{
			result.putObject("nodes_after");
			monitor.beliefs().forEach((host, belief) -> {
				ArrayNode row = result.with("nodes_after").putArray(host);

				for (long figure : belief)
					row.add(figure);
			});
		}
	}

	private static OpportunisticContainerContext context(JsonNode workload)
	{
		OpportunisticContainerContext context = new OpportunisticContainerContext();

		context.updateAllocationParams(amounts(workload.get("min")), amounts(workload.get("max")), amounts(workload.get("increment")), 600000);
		context.getAppParams().setMaxAllocationsPerSchedulerKeyPerRound(1);
		return context;
	}

	private static List<RemoteNode> remoteNodes(JsonNode list)
	{
		List<RemoteNode> remote = new ArrayList<>();

		for (JsonNode row : list)
		{
			String host = row.get("host").asText();
			RemoteNode node = RemoteNode.newInstance(NodeId.newInstance(host, PORT), host + ":80");

			NetUtils.addStaticResolution(host, "127.0.0.1");
			node.setRackName(row.path("rack").asText("/r0"));
			node.setNodePartition(row.path("label").asText(""));
			remote.add(node);
		}
		return remote;
	}

	/** Returns the outstanding requests by priority, id and size. */
	private static ObjectNode outstanding(OpportunisticContainerContext context)
	{
		ObjectNode outstanding = Oracle.JSON.createObjectNode();

		context.getOutstandingOpReqs().forEach((key, bySize) -> bySize.forEach((size, request) -> {
			ObjectNode row = outstanding.putObject(key.getPriority().getPriority() + "/" + key.getAllocationRequestId() + "/" +
				size.getMemorySize() + ":" + size.getVirtualCores());
			Map<String, AtomicInteger> locations = new TreeMap<>(request.getNodeMap());

			row.put("n", request.getRequest().getNumContainers());
			locations.putAll(request.getRackMap());
			locations.forEach((name, count) -> row.with("locations").put(name, count.get()));
		}));
		return outstanding;
	}

	@Override
	public String[] families()
	{
		return new String[] {"monitor", "central", "distributed"};
	}

	@Override
	public ObjectNode generate(String family, long seed)
	{
		Random random = new Random(seed * 31 + family.hashCode());
		ObjectNode workload = Oracle.JSON.createObjectNode().put("id", family + "-" + seed).put("family", family)
			.put("mode", family.equals("distributed") ? "distributed" : "central");
		int hosts = 1 + random.nextInt(9);

		workload.put("max_per_heartbeat", random.nextInt(5) - 1);
		workload.putArray("min").add(512).add(1);
		workload.putArray("max").add(4096).add(4);
		workload.putArray("increment").add(512).add(1);
		if (family.equals("distributed"))
		{
			for (int i = 0; i < 10; i++)
				putAllocate(workload, hosts, random, i == 0);
			return workload;
		}
		workload.put("comparator", new String[] {"QUEUE_LENGTH", "QUEUE_WAIT_TIME", "QUEUE_LENGTH_THEN_RESOURCES"}[random.nextInt(3)])
			.put("nodes_used", 1 + random.nextInt(10)).put("seed", random.nextInt(1 << 20));
		workload.putObject("limit").put("sigma", 1.0).put("min", 1 + random.nextInt(3)).put("max", 5 + random.nextInt(10));
		for (int i = 1; i <= hosts; i++)
			putAdd(workload, i);
		for (int i = 0; i < 30; i++)
		{
			int what = random.nextInt(family.equals("central") ? 11 : 7);

			if (i < hosts || what < 4)
				putUpdate(workload, i < hosts ? i + 1 : 1 + random.nextInt(hosts), random);
			else if (what < 6)
				workload.withArray("steps").addObject().put("op", "sort");
			else if (what == 6)
				putSelect(workload, hosts, random);
			else
				putAllocate(workload, hosts, random, false);
		}
		return workload;
	}

	private static ObjectNode step(ObjectNode workload, String operation)
	{
		return workload.withArray("steps").addObject().put("op", operation);
	}

	private static void putAdd(ObjectNode workload, int host)
	{
		step(workload, "add").put("host", "h" + host).put("rack", "/r" + host % 3);
	}

	/**
	 * Puts a node's heartbeat. Sometimes the node is being decommissioned, or was removed and added
	 * again just before.
	 */
	private static void putUpdate(ObjectNode workload, int host, Random random)
	{
		int fate = random.nextInt(12);
		ObjectNode step;

		if (fate == 0)
		{
			step(workload, "remove").put("host", "h" + host);
			putAdd(workload, host);
		}
		step = step(workload, "update").put("host", "h" + host).put("length", random.nextInt(10)).put("wait", random.nextInt(4) - 1)
			.put("queue_capacity", random.nextInt(12));
		step.putArray("capability").add(8192).add(8);
		step.putArray("allocated").add(512 * random.nextInt(16)).add(random.nextInt(8));
		if (fate == 1)
			step.put("state", "DECOMMISSIONING");
	}

	private static void putSelect(ObjectNode workload, int hosts, Random random)
	{
		boolean local = random.nextBoolean();

		step(workload, local ? "select_local" : "select_rack").put("where", local ? "h" + (1 + random.nextInt(hosts)) : "/r" + random.nextInt(3))
			.putArray("res").add(1024).add(1);
	}

	/**
	 * Puts an application's heartbeat, with requests of several priorities. Each priority has a
	 * size of its own.
	 */
	private static void putAllocate(ObjectNode workload, int hosts, Random random, boolean listed)
	{
		ObjectNode step = step(workload, "allocate").put("app", 1 + random.nextInt(3));
		ArrayNode asks = step.putArray("asks");

		for (int i = random.nextInt(3); i > 0; i--)
		{
			int priority = 1 + random.nextInt(3);
			int count = 1 + random.nextInt(6);

			for (int place = random.nextInt(3); place > 0; place--)
				putAsk(asks, priority, random.nextInt(3) == 0 ? "/r" + random.nextInt(3) : "h" + (1 + random.nextInt(hosts)), 1 + random.nextInt(count));
			putAsk(asks, priority, "*", count);
		}
		if (random.nextInt(4) == 0)
			step.putArray("blacklist_add").add("h" + (1 + random.nextInt(hosts)));
		if (random.nextInt(4) == 0)
			step.putArray("blacklist_del").add("h" + (1 + random.nextInt(hosts)));
		if (workload.path("mode").asText().equals("distributed") && (listed || random.nextInt(3) == 0))
			putList(step, hosts, random);
	}

	private static void putAsk(ArrayNode asks, int priority, String where, int count)
	{
		asks.addObject().put("priority", priority).put("id", priority % 2).put("where", where).put("n", count)
			.putArray("res").add(700 * priority).add(priority);
	}

	/** Puts a list of the hosts in random order. Some hosts are left out. */
	private static void putList(ObjectNode step, int hosts, Random random)
	{
		List<Integer> order = new ArrayList<>();

		for (int i = 1; i <= hosts; i++)
			order.add(i);
		Collections.shuffle(order, random);
		step.putArray("node_list");
		for (int host : order.subList(0, 1 + random.nextInt(hosts)))
			step.withArray("node_list").addObject().put("host", "h" + host).put("rack", "/r" + host % 3);
	}
}
