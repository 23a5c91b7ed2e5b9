package yquota.oracle;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ContainerAllocationProposal;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ResourceCommitRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.SchedulerContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;

/** The scheduler itself.  It notes each decision when it is committed. */
public class RecordingScheduler extends CapacityScheduler
{
	private final List<String> decisions = new ArrayList<>();

	/**
	 * Hadoop leaves an application in its place in fair order when a container
	 * of it starts from a reservation.  With this property it is put anew, so
	 * that all else can be compared.
	 */
	private static final boolean ANEW = Boolean.getBoolean("oracle.place-anew");

	/** The decisions since the last call, in the order in which they were made. */
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
		// A heartbeat that finds a reservation still unfulfilled makes it again.
		boolean anew = reserved && typed.getContainersToReserve().get(0).getAllocatedOrReservedContainer()
			.getSchedulerNode().getReservedContainer() != null;

		if (!super.tryCommit(cluster, request, updatePending))
			return false;
		if (allocated)
			for (ContainerAllocationProposal<FiCaSchedulerApp, FiCaSchedulerNode> proposal : typed.getContainersToAllocate())
			{
				decisions.add(allocation(proposal));
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

	private static String allocation(ContainerAllocationProposal<FiCaSchedulerApp, FiCaSchedulerNode> proposal)
	{
		SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode> container = proposal.getAllocatedOrReservedContainer();
		Object updated = container.getSchedulerRequestKey().getContainerToUpdate();
		boolean swapped = !empty(proposal.getToRelease());

		if (updated != null)
			return "updated " + updated + " " + container.getSchedulerNode().getNodeName();
		return (swapped ? "swapped " : "allocated ") + containerAndNode(container) + " " +
			Amounts.of(proposal.getAllocatedOrReservedResource()) + " " + proposal.getAllocationLocalityType() +
			(swapped ? " for " + proposal.getToRelease().get(0).getSchedulerNode().getNodeName() : "");
	}

	private static String reservation(ContainerAllocationProposal<FiCaSchedulerApp, FiCaSchedulerNode> proposal)
	{
		SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode> container = proposal.getAllocatedOrReservedContainer();
		Object updated = container.getSchedulerRequestKey().getContainerToUpdate();

		return "reserved " + (updated == null ? containerAndNode(container) : "for " + updated + " " + container.getSchedulerNode().getNodeName()) +
			" " + Amounts.of(proposal.getAllocatedOrReservedResource());
	}

	/**
	 * Among an application's reservations for one request Hadoop gives up the
	 * one that comes first in a hash table, whose order depends on port and
	 * host.  Here it is the one whose node comes first by name.
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
