package yquota.oracle;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.Random;

/** A random plan, and reservations that are added, changed and deleted. */
final class ReservationWorkload
{
	/**
	 * Families of workloads. In agent, agents place the reservations. In policy, the sharing policy
	 * checks ready-made allocations. In follower, queues follow the plan over time, and the
	 * cluster's size changes.
	 */
	static final String[] FAMILIES = {"agent", "periodic", "policy", "follower"};

	private static final String QUEUES = "yarn.scheduler.capacity.";
	private static final String SYSTEM = "yarn.resourcemanager.reservation-system.";
	private static final long HOUR = 3_600_000;

	private final String family;
	private final Random random;
	private final ObjectNode workload = Oracle.JSON.createObjectNode();
	private final ArrayNode steps;
	private final long step;
	private long now;
	private int reservations;

	ReservationWorkload(String family, long seed)
	{
		this.family = family;
		random = new Random(seed * 31 + family.hashCode());
		step = is("periodic") ? 60_000 : is("agent") ? one(1000, 60_000) : 1000;
		workload.put("id", family + "-" + seed).put("family", family);
		configure();
		steps = workload.putArray("steps");
	}

	private boolean is(String name)
	{
		return family.equals(name);
	}

	private boolean chance(double probability)
	{
		return random.nextDouble() < probability;
	}

	@SafeVarargs
	private final <T> T one(T... of)
	{
		return of[random.nextInt(of.length)];
	}

	private int between(int from, int to)
	{
		return from + random.nextInt(to - from + 1);
	}

	private void configure()
	{
		ObjectNode conf = workload.putObject("conf");
		int capacity = one(50, 80, 95);
		long window = is("periodic") ? one(1, 6, 24) * HOUR : one(10, 50, 100, 1000) * step;

		conf.put(QUEUES + "root.queues", "plan,default").put(QUEUES + "root.plan.capacity", Integer.toString(capacity))
			.put(QUEUES + "root.plan.reservable", "true").put(QUEUES + "root.default.capacity", Integer.toString(100 - capacity))
			.put(QUEUES + "root.plan.reservation-window", Long.toString(window))
			.put("yarn.scheduler.maximum-allocation-mb", "8192").put("yarn.scheduler.maximum-allocation-vcores", "8");
		if (is("policy") || chance(0.5))
			conf.put(QUEUES + "root.plan.instantaneous-max-capacity", one("100", "80", "60"));
		if (is("policy") || chance(0.5))
			conf.put(QUEUES + "root.plan.average-capacity", one("70", "50", "25", "10"));
		if (is("follower") && chance(0.6))
			conf.put(QUEUES + "root.plan.reservation-enforcement-window", Long.toString(one(3, 10, 50) * step));
		if (chance(0.5))
			conf.put(SYSTEM + "favor-early-allocation", one("true", "false"));
		if (chance(0.3))
			conf.put(SYSTEM + "smoothness-factor", one("1", "2", "10"));
		if (chance(0.35))
			conf.put(QUEUES + "resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator");
		workload.putArray("node").add(one(10240, 12800, 20480)).add(one(8, 10, 16, 20));
		workload.put("nodes", one(4, 8, 10)).put("step", step).put("agent", one("AlignedPlannerWithGreedy", "GreedyReservationAgent"))
			.put("policy", one("CapacityOverTimePolicy", "CapacityOverTimePolicy", "NoOverCommitPolicy")).put("max_periodicity", 24 * HOUR);
	}

	private ObjectNode operation(String name)
	{
		return steps.addObject().put("op", name);
	}

	ObjectNode make()
	{
		operation("clock").put("to", now);
		for (int i = between(5, 20); i > 0; i--)
			step();
		operation("load").put("user", "u1").put("from", 0).put("to", is("periodic") ? 30 * HOUR : 300 * step);
		range(operation("available").put("user", "u1"), 100);
		range(operation("search"), 100);
		return workload;
	}

	private void step()
	{
		double what = random.nextDouble();

		if (reservations == 0 || what < 0.5)
			come();
		else if (what < 0.6 && !is("policy"))
			describe(operation("update").put("r", between(1, reservations)).put("user", one("u1", "u2")));
		else if (what < 0.68)
			operation("delete").put("r", between(1, reservations));
		else if (is("follower"))
			follow();
		else if (what < 0.8)
			passTime();
		else
			range(operation("available").put("user", one("u1", "u2")), 60);
	}

	private void range(ObjectNode step, int length)
	{
		long from = between(0, length) * this.step;

		step.put("from", from).put("to", from + between(1, length) * this.step);
	}

	private void passTime()
	{
		now += between(1, 10) * step + (chance(0.2) ? 300 : 0);
		operation("clock").put("to", now);
	}

	private void follow()
	{
		if (chance(0.3))
			operation("cluster").put("nodes", between(1, 14));
		else
			passTime();
		ObjectNode follow = operation("follow");

		if (chance(0.2))
			follow.put("replan", false);
	}

	private void come()
	{
		boolean again = is("policy") && reservations > 0 && chance(0.2);
		int number = again ? between(1, reservations) : ++reservations;

		if (!is("policy"))
		{
			describe(operation("submit").put("r", number).put("user", one("u1", "u1", "u2", "u3")));
			return;
		}
		ObjectNode add = operation("add").put("r", number).put("user", one("u1", "u1", "u2"));
		long time = between(0, 100) * step;

		for (int i = between(1, 3); i > 0; i--)
		{
			long end = time + between(1, 60) * step;
			int percent = one(1, 5, 10, 20, 30, 50, 75);

			add.withArray("intervals").addArray().add(time).add(end).add(capacity(0) * percent / 100).add(Math.max(1, capacity(1) * percent / 100));
			time = end + one(0, 0, 1, 5) * step;
		}
		if (again)
			add.put("replace", true);
	}

	private long capacity(int type)
	{
		return workload.get("node").get(type).asLong() * workload.get("nodes").asLong() *
			workload.get("conf").get(QUEUES + "root.plan.capacity").asLong() / 100;
	}

	/**
	 * Puts a reservation's definition. Most durations are whole steps of the plan, and the time
	 * from arrival to deadline may be long enough.
	 */
	private void describe(ObjectNode operation)
	{
		ObjectNode definition = operation.putObject("def");
		String interpreter = one("ANY", "ALL", "ALL", "ORDER", "ORDER", "ORDER_NO_GAP");
		long arrival = now + between(0, is("follower") ? 8 : 40) * step + (chance(0.2) ? between(1, 999) : 0);
		long needed = 0;

		definition.put("arrival", arrival);
		for (int i = between(1, 3); i > 0; i--)
		{
			ObjectNode request = definition.withArray("requests").addObject();
			int gang = one(1, 1, 2, 5);
			int memory = one(512, 1024, 2048, 3000, 4096);
			long duration = one(1, 2, 3, 8) * step + (chance(0.2) ? between(1, 999) : 0);

			request.putArray("res").add(memory).add(one(1, 1, 2, 3));
			request.put("n", gang * Math.max(1, (int) (capacity(0) * (0.02 + random.nextDouble() * 0.5) / memory / gang)) + (chance(0.03) ? 1 : 0))
				.put("gang", gang).put("duration", duration);
			needed = interpreter.startsWith("ORDER") ? needed + duration : Math.max(needed, duration);
		}
		definition.put("deadline", arrival + needed + one(-1, 0, 0, 1, 5, 10, 20) * step).put("interpreter", interpreter);
		if (is("periodic") && chance(0.7))
			definition.put("recurrence", Long.toString(one(1, 2, 6, 24, 5) * HOUR));
	}
}
