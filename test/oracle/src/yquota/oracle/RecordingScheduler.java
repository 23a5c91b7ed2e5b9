package yquota.oracle;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ContainerAllocationProposal;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ResourceCommitRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.SchedulerContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;

/** Hadoop's scheduler, which also notes each decision when it commits the decision. */
public class RecordingScheduler extends CapacityScheduler
{
	private final List<String> decisions = new ArrayList<>();
	private boolean spared;

	/**
	 * Whether to put an application into its right place in fair order when one of its containers
	 * starts from a reservation. Hadoop leaves the application where it was. With this property, all
	 * other decisions can be compared.
	 */
	private static final boolean ANEW = Boolean.getBoolean("oracle.place-anew");

	/** Returns the decisions since the last call, in the order in which they were made. */
	List<String> takeDecisions()
	{
		List<String> taken = new ArrayList<>(decisions);

		decisions.clear();
		return taken;
	}

	@Override
	@SuppressWarnings({"unchecked", "rawtypes"})
	public boolean tryCommit(Resource cluster, ResourceCommitRequest request, boolean updatePending)
	{
		ResourceCommitRequest<FiCaSchedulerApp, FiCaSchedulerNode> typed = request;
		boolean reserved = !empty(typed.getContainersToReserve());
		boolean allocated = !empty(typed.getContainersToAllocate());
		// A heartbeat makes a reservation again if it still finds no room for the container.
		boolean anew = reserved && typed.getContainersToReserve().get(0).getAllocatedOrReservedContainer()
			.getSchedulerNode().getReservedContainer() != null;

		List<RMContainer> killed = toKill(typed);
		Set<RMContainer> before = running();

		if (!super.tryCommit(cluster, request, updatePending))
			return false;
		noteKilled(killed, before);
		if (allocated)
			for (ContainerAllocationProposal<FiCaSchedulerApp, FiCaSchedulerNode> proposal : typed.getContainersToAllocate())
			{
				decisions.add(allocation(proposal, killed));
				if (ANEW && proposal.getAllocateFromReservedContainer() != null)
					placeAnew(proposal.getAllocatedOrReservedContainer());
			}
		if (reserved)
		{
			ContainerAllocationProposal<FiCaSchedulerApp, FiCaSchedulerNode> proposal = typed.getContainersToReserve().get(0);

			orderReservationsByNode(proposal.getAllocatedOrReservedContainer().getSchedulerApplicationAttempt());
			if (!anew)
				decisions.add(reservation(proposal));
		}
		if (!allocated && !reserved && !empty(typed.getContainersToRelease()))
			for (SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode> released : typed.getContainersToRelease())
				decisions.add("unreserved " + containerAndNode(released));
		return true;
	}

	/**
	 * Returns the containers that lazy preemption kills for a proposal. The proposal's list may
	 * also have reservations that it releases.
	 */
	private static List<RMContainer> toKill(ResourceCommitRequest<FiCaSchedulerApp, FiCaSchedulerNode> request)
	{
		List<RMContainer> killed = new ArrayList<>();

		for (ContainerAllocationProposal<FiCaSchedulerApp, FiCaSchedulerNode> proposal : request.getContainersToAllocate())
			for (SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode> released : proposal.getToRelease())
				if (released.getRmContainer().getState() != RMContainerState.RESERVED)
					killed.add(released.getRmContainer());
		return killed;
	}

	/** Returns the killable containers that still exist. */
	private Set<RMContainer> running()
	{
		Set<RMContainer> running = new TreeSet<>();

		for (FiCaSchedulerNode node : nodeTracker.getAllNodes())
			running.addAll(node.getKillableContainers().values());
		return running;
	}

	/**
	 * Notes the killed containers: first those on the node of the allocation, then those that had
	 * to end so that a parent keeps its maximum.
	 */
	private void noteKilled(List<RMContainer> killed, Set<RMContainer> before)
	{
		Set<RMContainer> others = new TreeSet<>(before);

		others.removeAll(running());
		spared |= !others.containsAll(killed);
		others.removeAll(killed);
		for (RMContainer container : killed)
			decisions.add("killed " + container.getContainerId() + " " + container.getAllocatedNode().getHost());
		for (RMContainer container : others)
			decisions.add("killed " + container.getContainerId() + " " + container.getAllocatedNode().getHost());
	}

	boolean isKillable(String container)
	{
		ContainerId id = ContainerId.fromString(container);

		return getNode(getRMContainer(id).getAllocatedNode()).getKillableContainers().containsKey(id);
	}

	/**
	 * Returns whether an allocation has used the room of a killable container of its own leaf.
	 * Hadoop does not kill such a container.
	 */
	boolean hasSpared()
	{
		return spared;
	}

	/**
	 * Makes a container killable. Hadoop kills the containers of a node in the order of a hash
	 * table; here the order is that of their ids.
	 */
	@SuppressWarnings("unchecked")
	void makeKillable(RMContainer container)
	{
		markContainerForKillable(container);
		try
		{
			Field field = FiCaSchedulerNode.class.getDeclaredField("killableContainers");
			FiCaSchedulerNode node = getNode(container.getAllocatedNode());

			field.setAccessible(true);
			field.set(node, new TreeMap<>((Map<ContainerId, RMContainer>) field.get(node)));
		}
		catch (ReflectiveOperationException e)
		{
			throw new IllegalStateException(e);
		}
	}

	private static void placeAnew(SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode> container)
	{
		FiCaSchedulerApp application = container.getSchedulerApplicationAttempt();

		((AbstractLeafQueue) application.getQueue()).getOrderingPolicy().containerAllocated(application, container.getRmContainer());
	}

	private static boolean empty(List<?> list)
	{
		return list == null || list.isEmpty();
	}

	private static String containerAndNode(SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode> container)
	{
		return container.getRmContainer().getContainerId() + " " + container.getSchedulerNode().getNodeName();
	}

	private static String allocation(ContainerAllocationProposal<FiCaSchedulerApp, FiCaSchedulerNode> proposal, List<RMContainer> killed)
	{
		SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode> container = proposal.getAllocatedOrReservedContainer();
		Object updated = container.getSchedulerRequestKey().getContainerToUpdate();
		List<SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode>> released = new ArrayList<>(proposal.getToRelease());

		released.removeIf(other -> killed.contains(other.getRmContainer()));
		boolean swapped = !released.isEmpty();

		if (updated != null)
			return "updated " + updated + " " + container.getSchedulerNode().getNodeName();
		return (swapped ? "swapped " : "allocated ") + containerAndNode(container) + " " +
			Amounts.of(proposal.getAllocatedOrReservedResource()) + " " + proposal.getAllocationLocalityType() +
			(swapped ? " for " + released.get(0).getSchedulerNode().getNodeName() : "");
	}

	private static String reservation(ContainerAllocationProposal<FiCaSchedulerApp, FiCaSchedulerNode> proposal)
	{
		SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode> container = proposal.getAllocatedOrReservedContainer();
		Object updated = container.getSchedulerRequestKey().getContainerToUpdate();

		return "reserved " + (updated == null ? containerAndNode(container) : "for " + updated + " " + container.getSchedulerNode().getNodeName()) +
			" " + Amounts.of(proposal.getAllocatedOrReservedResource());
	}

	/**
	 * Sorts an application's reservations by the name of the node. Of the reservations for one
	 * request, Hadoop gives up the first one in a hash table, whose order depends on port and host.
	 */
	@SuppressWarnings("unchecked")
	private static void orderReservationsByNode(SchedulerApplicationAttempt application)
	{
		try
		{
			Field field = SchedulerApplicationAttempt.class.getDeclaredField("reservedContainers");

			field.setAccessible(true);
			((Map<Object, Map<NodeId, RMContainer>>) field.get(application)).replaceAll((key, byNode) -> byNode instanceof TreeMap ? byNode : new TreeMap<>(byNode));
		}
		catch (ReflectiveOperationException e)
		{
			throw new IllegalStateException(e);
		}
	}
}
