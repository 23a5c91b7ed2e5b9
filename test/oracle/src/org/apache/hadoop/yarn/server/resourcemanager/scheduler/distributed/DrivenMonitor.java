package org.apache.hadoop.yarn.server.resourcemanager.scheduler.distributed;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;

/**
 * Hadoop's monitor of the nodes' queues, which sorts only when it is told to. The class is in
 * Hadoop's package, because only that package sees the methods that it calls.
 */
public final class DrivenMonitor extends NodeQueueLoadMonitor
{
	private final Random random;
	private final List<Integer> starts = new ArrayList<>();
	private long updates;

	public DrivenMonitor(String comparator, int nodesUsed, long seed)
	{
		super(LoadComparator.valueOf(comparator));
		numNodesForAnyAllocation = nodesUsed;
		random = new Random(seed);
	}

	/**
	 * Handles a heartbeat. Hadoop sorts nodes with equal load by the time of their heartbeat; here
	 * this time is the number of the heartbeat.
	 */
	public boolean update(RMNode node) throws ReflectiveOperationException
	{
		updateNode(node);
		ClusterNode known = getClusterNodes().get(node.getNodeID());

		if (known == null)
			return false;
		Field timestamp = ClusterNode.class.getDeclaredField("timestamp");
		timestamp.setAccessible(true);
		timestamp.setLong(known, ++updates);
		return true;
	}

	public void sort()
	{
		computeTask.run();
	}

	/**
	 * Returns the index at which each selection of any node began, for the selections since the
	 * last call.
	 */
	public List<Integer> takeStarts()
	{
		List<Integer> taken = new ArrayList<>(starts);

		starts.clear();
		return taken;
	}

	/**
	 * Returns by host what the monitor believes of a node: the length of its queue, its allocated
	 * memory and cores.
	 */
	public Map<String, long[]> beliefs()
	{
		Map<String, long[]> beliefs = new TreeMap<>();

		for (Map.Entry<NodeId, ClusterNode> node : getClusterNodes().entrySet())
		{
			Resource allocated = node.getValue().getAllocatedResource();

			beliefs.put(node.getKey().getHost(), new long[] {node.getValue().getQueueLength(), allocated.getMemorySize(), allocated.getVirtualCores()});
		}
		return beliefs;
	}

	/** Returns the hosts of each rack. A rack stays, and is empty, when all its nodes have left. */
	public Map<String, List<String>> hostsByRack()
	{
		Map<String, List<String>> racks = new TreeMap<>();

		nodeIdsByRack.forEach((rack, ids) -> {
			List<String> hosts = new ArrayList<>();

			ids.forEach(id -> hosts.add(id.getHost()));
			racks.put(rack, hosts);
		});
		return racks;
	}

	/**
	 * Does the same as the inherited method. There, the first index comes from a generator without
	 * a seed.
	 */
	@Override
	public RMNode selectAnyNode(Set<String> blacklist, Resource request)
	{
		List<NodeId> candidates = getCandidatesForSelectAnyNode();

		if (candidates.isEmpty())
			return null;
		int start = random.nextInt(candidates.size());
		starts.add(start);
		for (int i = 0; i < candidates.size(); i++)
		{
			NodeId id = candidates.get((start + i) % candidates.size());
			ClusterNode node = id == null || blacklist.contains(id.getHost()) ? null : clusterNodes.get(id);

			if (node != null && comparator.compareAndIncrement(node, 1, request))
				return nodeByHostName.get(id.getHost());
		}
		return null;
	}
}
