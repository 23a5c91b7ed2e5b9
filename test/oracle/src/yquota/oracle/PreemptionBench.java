package yquota.oracle;

import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.util.Arrays;

import org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.util.ControlledClock;

/**
 * Measures a round of Hadoop's policy in a large cluster. It has 10,000 nodes and 1,000 leaf queues
 * with 10,000 applications and 200,000 running containers. First no container has to be preempted,
 * then 5,000. The argument is the number of nodes, a multiple of 200; all other numbers are in
 * proportion.
 */
public final class PreemptionBench
{
	private static final String QUEUES = "yarn.scheduler.capacity.";
	private static final String PREEMPTION = "yarn.resourcemanager.monitor.capacity.preemption.";
	private static final int PARENTS = 10;
	private static final int APPLICATIONS_PER_LEAF = 10;
	private static final int CONTAINERS_PER_NODE = 20;
	private static final int MEMORY = 1024;
	private static final int QUIET_ROUNDS = 10;

	private final int nodes;
	private final int leaves;
	private final ControlledClock clock = new ControlledClock();
	private final PrintStream out;
	private LoadedCluster loaded;
	private ProportionalCapacityPreemptionPolicy policy;
	private long placed;

	private PreemptionBench(int nodes, PrintStream out)
	{
		this.nodes = nodes;
		this.out = out;
		leaves = nodes / APPLICATIONS_PER_LEAF;
	}

	public static void main(String[] arguments) throws Exception
	{
		PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");

		System.setOut(System.err);
		new PreemptionBench(Integer.parseInt(arguments[0]), out).run();
		System.exit(0);
	}

	private void run() throws Exception
	{
		double[] quiet = new double[QUIET_ROUNDS];

		// Queues are added after the nodes, because every new node makes the scheduler compute all
		// queues anew.
		loaded = new LoadedCluster(workload());
		loaded.cluster.refresh(queues());
		for (int application = 0; application < nodes; application++)
			addApplication(application);
		loaded.cluster.settle();
		out.printf("%d nodes, %d leaf queues, %d applications, %d running containers%n", nodes, leaves, nodes, running());
		policy = new ProportionalCapacityPreemptionPolicy(loaded.cluster.manager.getRMContext(), loaded.cluster.scheduler, clock);
		for (int i = 0; i < QUIET_ROUNDS; i++)
			quiet[i] = round();
		Arrays.sort(quiet);
		out.printf("nothing to select: %.0f ms (median of %d rounds, %.0f to %.0f)%n", quiet[QUIET_ROUNDS / 2], QUIET_ROUNDS, quiet[0], quiet[QUIET_ROUNDS - 1]);
		for (int application = 0; application < nodes; application++)
			if (isAsking(application))
				loaded.ask(application + 1, ask());
		loaded.cluster.settle();
		double marking = round();

		out.printf("containers are marked: %.0f ms, %d are%n", marking, policy.getToPreemptContainers().size());
		long before = running();
		double killing = round();

		loaded.cluster.settle();
		out.printf("containers are killed: %.0f ms, %d are%n", killing, before - running());
	}

	/** Milliseconds. */
	private double round()
	{
		long start;

		clock.tickMsec(1000);
		start = System.nanoTime();
		policy.editSchedule();
		return (System.nanoTime() - start) / 1e6;
	}

	private long running()
	{
		long running = 0;

		for (int application = 0; application < nodes; application++)
		{
			FiCaSchedulerApp attempt = loaded.attempt(application + 1);

			running += attempt.getLiveContainers().size();
		}
		return running;
	}

	private ObjectNode workload()
	{
		ObjectNode workload = Oracle.JSON.createObjectNode();
		ObjectNode conf = workload.putObject("conf");

		conf.put(QUEUES + "root.queues", "default").put(QUEUES + "root.default.capacity", "100");
		// Everything requested may be preempted at once, in the round after the mark.
		conf.put(PREEMPTION + "total_preemption_per_round", "1.0").put(PREEMPTION + "natural_termination_factor", "1.0")
			.put(PREEMPTION + "max_ignored_over_capacity", "0").put(PREEMPTION + "max_wait_before_kill", "0");
		for (int node = 0; node < nodes; node++)
			workload.withArray("nodes").addObject().put("id", "n" + node).putArray("res").add(CONTAINERS_PER_NODE * MEMORY).add(CONTAINERS_PER_NODE);
		return workload;
	}

	private ObjectNode queues()
	{
		ObjectNode properties = Oracle.JSON.createObjectNode();
		StringBuilder parents = new StringBuilder("default");

		for (int parent = 0; parent < PARENTS; parent++)
		{
			StringBuilder children = new StringBuilder();

			parents.append(",p").append(parent);
			properties.put(QUEUES + "root.p" + parent + ".capacity", Double.toString(100.0 / PARENTS));
			for (int leaf = parent; leaf < leaves; leaf += PARENTS)
			{
				children.append(leaf == parent ? "q" : ",q").append(leaf);
				properties.put(QUEUES + "root.p" + parent + ".q" + leaf + ".capacity", Double.toString(100.0 * PARENTS / leaves));
				properties.put(QUEUES + "root.p" + parent + ".q" + leaf + ".user-limit-factor", "100");
			}
			properties.put(QUEUES + "root.p" + parent + ".queues", children.toString());
		}
		return properties.put(QUEUES + "root.queues", parents.toString()).put(QUEUES + "root.default.capacity", "0")
			.put(QUEUES + "maximum-am-resource-percent", "1");
	}

	/**
	 * Returns whether an application has one container too few. The applications of every second
	 * leaf have one too few, and the others have one too many.
	 */
	private boolean isAsking(int application)
	{
		return application % leaves / PARENTS % 2 == 1;
	}

	private void addApplication(int application)
	{
		int leaf = application % leaves;
		ObjectNode row = Oracle.JSON.createObjectNode().put("app", application + 1).put("queue", "root.p" + leaf % PARENTS + ".q" + leaf).put("user", "u1");
		int containers = CONTAINERS_PER_NODE + (isAsking(application) ? -1 : 1);

		row.putArray("am").add(MEMORY).add(1);
		loaded.submit(row);
		loaded.ask(application + 1, ask().put("prio", 0).put("n", 0));
		for (int number = 1; number <= containers; number++)
		{
			ObjectNode container = Oracle.JSON.createObjectNode().put("id", application + 1 + "." + number).put("node", "n" + placed++ / CONTAINERS_PER_NODE)
				.put("prio", number == 1 ? 0 : 1).put("created", 0).put("am", number == 1);

			container.putArray("res").add(MEMORY).add(1);
			loaded.start(container);
		}
	}

	private static ObjectNode ask()
	{
		ObjectNode ask = Oracle.JSON.createObjectNode().put("prio", 1).put("n", 1);

		ask.putArray("res").add(MEMORY).add(1);
		return ask;
	}
}
