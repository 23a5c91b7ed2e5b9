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
 * The monitor of nodes' queues, which sorts when it is told to.  It stands in
 * Hadoop's package, as what it calls is visible there only.
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

	/** Hadoop sorts equals by the time of the heartbeat, which here is its number. */
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

	/** The indexes at which selections of any node began since the last call. */
	public List<Integer> takeStarts()
	{
		List<Integer> taken = new ArrayList<>(starts);

		starts.clear();
		return taken;
	}

	/** By host: length of the queue, allocated memory and cores. */
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

	/** A rack that all nodes have left stays, and is empty. */
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

	/** As the inherited one, whose first index is of a generator without a seed. */
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
