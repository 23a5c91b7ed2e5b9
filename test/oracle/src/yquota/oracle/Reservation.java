package yquota.oracle;

import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;
import static org.mockito.Mockito.withSettings;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

import org.apache.hadoop.yarn.api.protocolrecords.ReservationDeleteRequest;
import org.apache.hadoop.yarn.api.protocolrecords.ReservationSubmissionRequest;
import org.apache.hadoop.yarn.api.protocolrecords.ReservationUpdateRequest;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.ReservationDefinition;
import org.apache.hadoop.yarn.api.records.ReservationId;
import org.apache.hadoop.yarn.api.records.ReservationRequest;
import org.apache.hadoop.yarn.api.records.ReservationRequestInterpreter;
import org.apache.hadoop.yarn.api.records.ReservationRequests;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.CapacitySchedulerPlanFollower;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.InMemoryPlan;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.InMemoryReservationAllocation;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.Plan;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.RLESparseResourceAllocation;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.ReservationAllocation;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.ReservationInputValidator;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.ReservationInterval;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.ReservationSystem;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.SharingPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.planning.DrivenReplanner;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.planning.Planner;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.planning.ReservationAgent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.QueuePath;
import org.apache.hadoop.yarn.util.ControlledClock;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * The area "reservation": what a plan of reservations accepts, where it places a reservation, and
 * which queues follow the plan. Every step has its result. Time is virtual.
 */
public final class Reservation implements Area
{
	private static final String QUEUE = "plan";
	private static final QueuePath PATH = new QueuePath("root.plan");
	private static final String CLASSES = "org.apache.hadoop.yarn.server.resourcemanager.reservation.";

	private Cluster cluster;
	private ControlledClock clock;
	private Plan plan;
	private ReservationAgent agent;
	private CapacitySchedulerPlanFollower follower;
	private ReservationInputValidator validator;
	private ReservationSystem system;
	private Map<ReservationId, String> known;
	private Resource nodeSize;
	private int nodesAdded;
	/**
	 * The phase that a step has reached. In "input" the validator may refuse the step. In "planning" the
	 * agent, the sharing policy or the plan may refuse it.
	 */
	private String phase;

	public static void main(String[] arguments) throws Exception
	{
		Oracle.main(new Reservation(), arguments);
	}

	@Override
	public String[] families()
	{
		return ReservationWorkload.FAMILIES;
	}

	@Override
	public ObjectNode generate(String family, long seed)
	{
		return new ReservationWorkload(family, seed).make();
	}

	@Override
	public ObjectNode record(ObjectNode workload) throws Exception
	{
		ObjectNode record = workload.deepCopy();

		try (Cluster started = new Cluster(workload.get("conf"), Oracle.JSON.createArrayNode()))
		{
			cluster = started;
			start(workload);
			record.set("plan_capacity", amounts(plan.getTotalCapacity()));
			for (JsonNode step : record.get("steps"))
				((ObjectNode) step).set("result", play(step));
		}
		return record;
	}

	private void start(JsonNode workload) throws Exception
	{
		CapacityScheduler scheduler = cluster.scheduler;
		SharingPolicy policy = instance(workload.get("policy").asText());
		Planner replanner;
		RMContext context = mock(RMContext.class, withSettings().stubOnly());

		clock = new ControlledClock();
		known = new HashMap<>();
		nodesAdded = 0;
		nodeSize = amounts(workload.get("node"));
		resize(workload.get("nodes").asInt());
		policy.init(PATH.getFullPath(), scheduler.getConfiguration());
		agent = instance("planning." + workload.get("agent").asText());
		agent.init(scheduler.getConfiguration());
		replanner = new DrivenReplanner(clock);
		replanner.init(PATH.getFullPath(), scheduler.getConfiguration());
		when(context.getStateStore()).thenReturn(new MemoryRMStateStore());
		plan = new InMemoryPlan(scheduler.getRootQueueMetrics(), policy, agent,
			Resources.multiply(scheduler.getClusterResource(), scheduler.getQueue(QUEUE).getAbsoluteCapacity()), workload.get("step").asLong(),
			scheduler.getResourceCalculator(), scheduler.getMinimumResourceCapability(), scheduler.getMaximumResourceCapability(), QUEUE, replanner,
			scheduler.getConfiguration().getMoveOnExpiry(PATH.getFullPath()), workload.get("max_periodicity").asLong(), context, clock);
		follower = new CapacitySchedulerPlanFollower();
		follower.init(clock, scheduler, Collections.singletonList(plan));
		validator = new ReservationInputValidator(clock);
		system = mock(ReservationSystem.class, withSettings().stubOnly());
		when(system.getPlan(any())).thenAnswer(call -> QUEUE.equals(call.getArgument(0)) ? plan : null);
		when(system.getQueueForReservation(any())).thenAnswer(call -> known.get(call.getArgument(0)));
	}

	@SuppressWarnings("unchecked")
	private static <T> T instance(String name) throws ReflectiveOperationException
	{
		return (T) Class.forName(CLASSES + name).getDeclaredConstructor().newInstance();
	}

	private void resize(int nodes) throws Exception
	{
		while (cluster.nodes.size() < nodes)
			cluster.addNode("n" + ++nodesAdded, "/rack", "", nodeSize);
		while (cluster.nodes.size() > nodes)
			cluster.removeNode(Collections.max(cluster.nodes.keySet(), (a, b) -> Integer.compare(Integer.parseInt(a.substring(1)), Integer.parseInt(b.substring(1)))));
	}

	private static Resource amounts(JsonNode amounts)
	{
		return Resource.newInstance(amounts.get(0).asLong(), amounts.get(1).asInt());
	}

	private static ArrayNode amounts(Resource resource)
	{
		return Oracle.JSON.createArrayNode().add(resource.getMemorySize()).add(resource.getVirtualCores());
	}

	private ObjectNode play(JsonNode step) throws Exception
	{
		ObjectNode result = Oracle.JSON.createObjectNode();
		String operation = step.get("op").asText();
		boolean changes = List.of("submit", "update", "delete", "add", "follow").contains(operation);

		phase = "input";
		if (operation.equals("clock"))
			clock.setTime(step.get("to").asLong());
		else if (operation.equals("cluster"))
			resize(step.get("nodes").asInt());
		else
		{
			try
			{
				perform(operation, step, result);
			}
			catch (Exception e)
			{
				putError(result, e);
			}
		}
		if (changes)
		{
			TreeSet<Long> numbers = new TreeSet<>();

			plan.getAllReservations().forEach(reservation -> numbers.add(reservation.getReservationId().getId()));
			numbers.forEach(result.putArray("reservations")::add);
		}
		return result;
	}

	private void putError(ObjectNode result, Exception error)
	{
		String message = error.getMessage();

		result.put("ok", false).put("phase", phase).put("error", error.getClass().getSimpleName());
		if (message != null)
			result.put("message", message.substring(0, Math.min(160, message.length())));
		if (error.getCause() != null)
			result.put("cause", error.getCause().getClass().getSimpleName());
	}

	private void perform(String operation, JsonNode step, ObjectNode result) throws Exception
	{
		ReservationId id = step.has("r") ? ReservationId.newInstance(1, step.get("r").asLong()) : null;
		String user = step.has("user") ? step.get("user").asText() : null;
		long from = step.path("from").asLong();
		long to = step.path("to").asLong();

		switch (operation)
		{
			case "submit":
			case "update":
				place(operation, id, user, definition(step.get("def")), result);
				break;
			case "delete":
				validator.validateReservationDeleteRequest(system, ReservationDeleteRequest.newInstance(id));
				phase = "planning";
				result.put("ok", agent.deleteReservation(id, user, plan));
				break;
			case "add":
				phase = "planning";
				add(id, user, step, result);
				break;
			case "available":
				phase = "planning";
				result.set("available", steps(plan.getAvailableResourceOverTime(user, id, from, to, step.path("period").asLong())));
				result.put("ok", true);
				break;
			case "load":
				result.set("load", steps(plan.getCumulativeLoadOverTime(from, to)));
				if (user != null)
					result.set("user_load", steps(plan.getConsumptionForUserOverTime(user, from, to)));
				break;
			case "search":
				TreeSet<Long> found = new TreeSet<>();

				plan.getReservations(id, new ReservationInterval(from, to), user).forEach(reservation -> found.add(reservation.getReservationId().getId()));
				found.forEach(result.putArray("found")::add);
				break;
			case "follow":
				follower.synchronizePlan(plan, step.path("replan").asBoolean(true));
				putQueues(result);
				break;
			default:
				throw new AssertionError(operation);
		}
	}

	private void place(String operation, ReservationId id, String user, ReservationDefinition definition, ObjectNode result) throws Exception
	{
		boolean placed;

		if (operation.equals("submit"))
		{
			validator.validateReservationSubmissionRequest(system, ReservationSubmissionRequest.newInstance(definition, QUEUE, id), id);
			phase = "planning";
			placed = agent.createReservation(id, user, plan, definition);
			if (placed)
				known.put(id, QUEUE);
		}
		else
		{
			validator.validateReservationUpdateRequest(system, ReservationUpdateRequest.newInstance(definition, id));
			phase = "planning";
			placed = agent.updateReservation(id, user, plan, definition);
		}
		result.put("ok", placed);
		putPlaced(result, plan.getReservationById(id));
	}

	private static ReservationDefinition definition(JsonNode definition)
	{
		List<ReservationRequest> requests = new ArrayList<>();

		for (JsonNode request : definition.get("requests"))
			requests.add(ReservationRequest.newInstance(amounts(request.get("res")), request.get("n").asInt(), request.path("gang").asInt(1), request.get("duration").asLong()));
		return definition(definition.get("arrival").asLong(), definition.get("deadline").asLong(), requests,
			ReservationRequestInterpreter.valueOf("R_" + definition.get("interpreter").asText()), definition);
	}

	private static ReservationDefinition definition(long arrival, long deadline, List<ReservationRequest> requests, ReservationRequestInterpreter interpreter, JsonNode of)
	{
		return ReservationDefinition.newInstance(arrival, deadline, ReservationRequests.newInstance(requests, interpreter), "r", of.path("recurrence").asText("0"),
			Priority.UNDEFINED);
	}

	private static void putPlaced(ObjectNode result, ReservationAllocation allocation)
	{
		ArrayNode rows;

		if (allocation == null)
			return;
		rows = result.putArray("allocation");
		new TreeMap<>(allocation.getAllocationRequests()).forEach((interval, resource) ->
			rows.addArray().add(interval.getStartTime()).add(interval.getEndTime()).addAll(amounts(resource)));
		result.putArray("span").add(allocation.getStartTime()).add(allocation.getEndTime());
		if (allocation.getPeriodicity() != 0)
			result.put("period", allocation.getPeriodicity());
		result.put("accepted_at", allocation.getAcceptanceTime()).put("user", allocation.getUser());
	}

	/** Adds a ready-made allocation to the plan. Only the sharing policy can refuse it. */
	private void add(ReservationId id, String user, JsonNode step, ObjectNode result) throws Exception
	{
		Map<ReservationInterval, Resource> intervals = new TreeMap<>();
		Resource minimum = cluster.scheduler.getMinimumResourceCapability();
		long start = Long.MAX_VALUE;
		long end = 0;
		boolean added;

		for (JsonNode row : step.get("intervals"))
		{
			intervals.put(new ReservationInterval(row.get(0).asLong(), row.get(1).asLong()), Resource.newInstance(row.get(2).asLong(), row.get(3).asInt()));
			start = Math.min(start, row.get(0).asLong());
			end = Math.max(end, row.get(1).asLong());
		}
		ReservationDefinition definition = definition(start, end, Collections.singletonList(ReservationRequest.newInstance(minimum, 1, 1, end - start)),
			ReservationRequestInterpreter.R_ALL, step);
		ReservationAllocation allocation = new InMemoryReservationAllocation(id, definition, user, QUEUE, start, end, intervals,
			cluster.scheduler.getResourceCalculator(), minimum);

		added = step.has("replace") ? plan.updateReservation(allocation) : plan.addReservation(allocation, false);
		if (added)
			known.put(id, QUEUE);
		result.put("ok", added);
	}

	/** Returns the steps of a function. A step without a resource is the end of the function. */
	static ArrayNode steps(RLESparseResourceAllocation allocation)
	{
		ArrayNode rows = Oracle.JSON.createArrayNode();

		allocation.getCumulative().forEach((time, resource) ->
		{
			ArrayNode row = rows.addArray().add(time);

			if (resource == null)
				row.addNull().addNull();
			else
				row.addAll(amounts(resource));
		});
		return rows;
	}

	/** Puts the queues of reservations, named by the reservation's number. */
	private void putQueues(ObjectNode result)
	{
		ObjectNode queues = result.putObject("queues");

		for (CSQueue queue : cluster.queue(QUEUE).getChildQueues())
		{
			String name = queue.getQueueName();

			queues.putArray(name.startsWith("reservation_") ? Long.toString(Long.parseLong(name.substring(name.lastIndexOf('_') + 1))) : name)
				.add(queue.getCapacity()).add(queue.getMaximumCapacity()).add(queue.getAbsoluteCapacity());
		}
		result.set("plan_capacity", amounts(plan.getTotalCapacity()));
	}
}
