package yquota.oracle;

import static org.mockito.Mockito.doReturn;
import static org.mockito.Mockito.spy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.event.Dispatcher;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventHandler;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.DrivenPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.preemption.PreemptableQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerPreemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEventType;
import org.apache.hadoop.yarn.util.ControlledClock;

/**
 * The area "preemption": which containers make room for other queues and applications. A workload
 * says how to build the cluster ("build") and when there are rounds. A record has the cluster at
 * each round instead, and is played again from that.
 */
public final class Preemption implements Area
{
	/**
	 * Suffix of every name in a variant. Its first character sorts before every character that may continue a longer
	 * name, so the order of the names stays.
	 */
	private static final String SUFFIX = "-variant";
	private static final String QUEUES = "yarn.scheduler.capacity.";

	private LoadedCluster loaded;
	private DrivenPolicy policy;
	private final ControlledClock clock = new ControlledClock();
	private final List<Event<?>> sent = new ArrayList<>();
	/**
	 * The source of random identity hashes, or null. Some of Hadoop's sets are ordered by the
	 * identity hashes of their objects.
	 */
	private Random shift;

	public static void main(String[] arguments) throws Exception
	{
		Oracle.main(new Preemption(), arguments);
	}

	@Override
	public String[] families()
	{
		return PreemptionWorkload.FAMILIES;
	}

	@Override
	public ObjectNode generate(String family, long seed)
	{
		return new PreemptionWorkload(family, seed).make();
	}

	/** Returns whether the input determines the result. If not, a different result is no fault. */
	@Override
	public boolean isDetermined(ObjectNode record)
	{
		return !record.has("order_dependent");
	}

	static ObjectNode reread(JsonNode node)
	{
		try
		{
			return (ObjectNode) Oracle.JSON.readTree(Oracle.JSON.writeValueAsString(node));
		}
		catch (IOException e)
		{
			throw new UncheckedIOException(e);
		}
	}

	@Override
	public ObjectNode record(ObjectNode workload) throws Exception
	{
		ObjectNode record;

		shift = null;
		record = play(workload);
		if (workload.has("build"))
			markOrderDependence(workload, record);
		return record;
	}

	/**
	 * Plays four variants of the workload. They change only what should not change the result:
	 * names and identity hashes.
	 */
	private void markOrderDependence(ObjectNode workload, ObjectNode record) throws Exception
	{
		boolean dependent = false;
		ArrayNode seen = Oracle.JSON.createArrayNode();
		Set<JsonNode> outcomes = new HashSet<>();

		outcomes.add(outcome(record));
		for (int variant = 0; variant < 4; variant++)
		{
			shift = variant == 3 ? new Random(variant) : null;
			ObjectNode other = named(play(variant == 3 ? workload : renamed(workload, variant != 1, variant != 0)));

			// A variant that begins in another state may have another result.
			if (!other.get("apps").equals(record.get("apps")) || !other.get("containers").equals(record.get("containers")))
				continue;
			dependent |= !other.get("rounds").equals(record.get("rounds"));
			if (outcomes.add(outcome(other)))
				seen.add(outcome(other));
		}
		if (dependent)
			record.put("order_dependent", seen.size() > 0 ? "selection" : "amounts");
		if (seen.size() > 0)
			record.set("also_seen", seen);
	}

	/** Returns for each round what the selectors chose and which events were sent. */
	private static ArrayNode outcome(ObjectNode record)
	{
		ArrayNode outcome = Oracle.JSON.createArrayNode();

		for (JsonNode round : record.get("rounds"))
		{
			ObjectNode row = outcome.addObject();

			for (JsonNode selector : round.get("selectors"))
				row.withArray("chosen").addArray().add(selector.get("selector")).add(selector.get("chosen"));
			row.set("events", round.get("events"));
		}
		return outcome;
	}

	private static ObjectNode renamed(ObjectNode workload, boolean queues, boolean nodes)
	{
		ObjectNode renamed = workload.deepCopy();
		ObjectNode properties = renamed.putObject("conf");

		workload.get("conf").fields().forEachRemaining(property ->
		{
			String value = property.getValue().asText();

			if (queues && property.getKey().startsWith(QUEUES + "root"))
				properties.put(renamedProperty(property.getKey(), workload.get("conf")),
					property.getKey().endsWith(".queues") ? value.replace(",", SUFFIX + ",") + SUFFIX : value);
			else
				properties.put(property.getKey(), value);
		});
		if (nodes)
			for (JsonNode node : renamed.get("nodes"))
				((ObjectNode) node).put("id", node.get("id").asText() + SUFFIX);
		for (JsonNode operation : renamed.findParents("op"))
		{
			if (queues && operation.has("queue"))
				((ObjectNode) operation).put("queue", operation.get("queue").asText().replace(".", SUFFIX + ".").replaceFirst("root" + SUFFIX, "root") + SUFFIX);
			if (nodes && operation.has("node"))
				((ObjectNode) operation).put("node", operation.get("node").asText() + SUFFIX);
		}
		return renamed;
	}

	/**
	 * Renames the queues in the name of a property. A part of the name belongs to the queue's path
	 * as long as the parent's list of queues has that part.
	 */
	private static String renamedProperty(String property, JsonNode properties)
	{
		String[] parts = property.substring(QUEUES.length()).split("\\.");
		String path = "root";
		StringBuilder renamed = new StringBuilder(QUEUES + "root");
		int i = 1;

		for (; i < parts.length && Arrays.asList(properties.path(QUEUES + path + ".queues").asText().split(",")).contains(parts[i]); i++)
		{
			path += "." + parts[i];
			renamed.append(".").append(parts[i]).append(SUFFIX);
		}
		for (; i < parts.length; i++)
			renamed.append(".").append(parts[i]);
		return renamed.toString();
	}

	private static ObjectNode named(ObjectNode record) throws IOException
	{
		return (ObjectNode) Oracle.JSON.readTree(Oracle.JSON.writeValueAsString(record).replace(SUFFIX, ""));
	}

	private ObjectNode play(ObjectNode workload) throws Exception
	{
		ObjectNode record = Oracle.JSON.createObjectNode();

		for (String input : new String[] {"id", "family", "conf", "labels", "nodes"})
			if (workload.has(input))
				record.set(input, workload.get(input));
		try (LoadedCluster started = new LoadedCluster(workload))
		{
			loaded = started;
			policy = new DrivenPolicy(withOwnDispatcher(loaded.cluster.manager.getRMContext()), loaded.cluster.scheduler, clock, LoadedCluster::name);
			if (workload.has("build"))
				for (JsonNode operation : workload.get("build"))
					perform(operation);
			playRounds(workload, record);
		}
		return reread(record);
	}

	/** Returns a context that collects the policy's events until the round is over. */
	private RMContext withOwnDispatcher(RMContext context)
	{
		RMContext own = spy(context);
		EventHandler<Event> handler = sent::add;

		doReturn(new Dispatcher()
		{
			@Override
			public EventHandler<Event> getEventHandler()
			{
				return handler;
			}

			@Override
			public void register(Class<? extends Enum> type, EventHandler registered)
			{
			}
		}).when(own).getDispatcher();
		return own;
	}

	private void perform(JsonNode operation)
	{
		int number = operation.path("app").asInt();

		switch (operation.get("op").asText())
		{
			case "submit":
				loaded.submit((ObjectNode) operation);
				break;
			case "ask":
				loaded.ask(number, operation);
				break;
			case "heartbeat":
				loaded.heartbeat(operation.get("node").asText());
				break;
			case "fill":
				loaded.fill(operation.path("passes").asInt(400));
				break;
			case "finish":
				loaded.finishSome(number, operation.get("n").asInt(), operation.get("which").asText().equals("newest"));
				break;
			default:
				throw new IllegalArgumentException(operation.toString());
		}
		loaded.note();
	}

	private void playRounds(ObjectNode workload, ObjectNode record) throws Exception
	{
		Map<Integer, ObjectNode> applications = new TreeMap<>();
		Map<String, ObjectNode> containers = new LinkedHashMap<>();
		Map<Integer, ObjectNode> recordedApplications = new TreeMap<>();
		Map<String, ObjectNode> recordedContainers = new LinkedHashMap<>();
		long start = loaded.now;

		learn(workload, "apps", "containers", recordedApplications, recordedContainers);
		for (JsonNode given : workload.get("rounds"))
		{
			ObjectNode round = Oracle.JSON.createObjectNode();

			if (workload.has("build"))
			{
				for (JsonNode operation : given.path("do"))
					perform(operation);
				loaded.now = Math.max(loaded.now, start + given.get("at").asLong());
			}
			else
			{
				learn(given, "apps", "set", recordedApplications, recordedContainers);
				loaded.now = given.get("now").asLong();
				loaded.become(recordedApplications, recordedContainers);
			}
			round.put("now", loaded.now);
			putChanges(record.has("rounds") ? round : record, record.has("rounds") ? "set" : "containers", applications, containers);
			putKillable(round);
			playRound(round);
			record.withArray("rounds").add(round);
		}
	}

	private static void learn(JsonNode from, String applicationsKey, String containersKey, Map<Integer, ObjectNode> applications, Map<String, ObjectNode> containers)
	{
		for (JsonNode name : from.path("gone"))
			containers.remove(name.asText());
		for (JsonNode row : from.path(applicationsKey))
			applications.put(row.get("app").asInt(), (ObjectNode) row);
		for (JsonNode row : from.path(containersKey))
			containers.put(row.get("id").asText(), (ObjectNode) row);
	}

	/** Puts what changed since the last round; for the first round, everything that exists. */
	private void putChanges(ObjectNode to, String containersKey, Map<Integer, ObjectNode> applications, Map<String, ObjectNode> containers)
	{
		Map<Integer, ObjectNode> applicationsNow = loaded.applicationRows();
		Map<String, ObjectNode> containersNow = loaded.containerRows();

		for (String name : containers.keySet())
			if (!containersNow.containsKey(name))
				to.withArray("gone").add(name);
		containersNow.forEach((name, row) ->
		{
			if (!row.equals(containers.get(name)))
				to.withArray(containersKey).add(row);
		});
		applicationsNow.forEach((number, row) ->
		{
			if (!row.equals(applications.get(number)))
				to.withArray("apps").add(row);
		});
		applications.putAll(applicationsNow);
		containers.clear();
		containers.putAll(containersNow);
	}

	private void putKillable(ObjectNode round)
	{
		Set<ContainerId> killable = new TreeSet<>();

		for (PreemptableQueue queue : loaded.cluster.scheduler.getPreemptionManager().getShallowCopyOfPreemptableQueues().values())
			for (Map<ContainerId, RMContainer> containers : queue.getKillableContainers().values())
				killable.addAll(containers.keySet());
		for (ContainerId container : killable)
			round.withArray("killable").add(LoadedCluster.name(container));
	}

	private void playRound(ObjectNode round) throws Exception
	{
		List<Event<?>> events;

		clock.setTime(loaded.now);
		loaded.age();
		for (int i = shift == null ? 0 : shift.nextInt(97); i > 0; i--)
			System.identityHashCode(new Object());
		sent.clear();
		policy.editSchedule(round);
		events = new ArrayList<>(sent);
		putEvents(round, events);
		for (Event<?> event : events)
			loaded.cluster.scheduler.handle((SchedulerEvent) event);
		for (Event<?> event : events)
			if (((ContainerPreemptEvent) event).getContainer().getState().name().equals("KILLED"))
				loaded.release(((ContainerPreemptEvent) event).getContainer());
		loaded.note();
		policy.putMarked(round);
	}

	/** Puts the events, sorted by kind, then by application and number. */
	private static void putEvents(ObjectNode round, List<Event<?>> events)
	{
		List<ContainerPreemptEvent> sorted = new ArrayList<>();
		ArrayNode rows = round.putArray("events");

		events.forEach(event -> sorted.add((ContainerPreemptEvent) event));
		sorted.sort((a, b) -> a.getType() == b.getType() ? a.getContainer().getContainerId().compareTo(b.getContainer().getContainerId()) :
			kind(a).compareTo(kind(b)));
		for (ContainerPreemptEvent event : sorted)
			rows.addArray().add(kind(event)).add(LoadedCluster.name(event.getContainer().getContainerId()));
	}

	private static String kind(ContainerPreemptEvent event)
	{
		return event.getType() == SchedulerEventType.MARK_CONTAINER_FOR_PREEMPTION ? "preempt" :
			event.getType() == SchedulerEventType.MARK_CONTAINER_FOR_KILLABLE ? "kill" : "unreserve";
	}
}
