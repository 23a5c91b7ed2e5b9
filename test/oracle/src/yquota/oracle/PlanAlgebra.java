package yquota.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.Random;
import java.util.TreeMap;

import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.RLESparseResourceAllocation;
import org.apache.hadoop.yarn.server.resourcemanager.reservation.RLESparseResourceAllocation.RLEOperator;
import org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator;
import org.apache.hadoop.yarn.util.resource.DominantResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;

/**
 * The area "plan-algebra": step functions of time, with which a plan of reservations computes, and
 * how two of them are merged.
 */
public final class PlanAlgebra implements Area
{
	public static void main(String[] arguments) throws Exception
	{
		Oracle.main(new PlanAlgebra(), arguments);
	}

	@Override
	public ObjectNode record(ObjectNode workload)
	{
		ObjectNode record = workload.deepCopy();
		ObjectNode result = record.putObject("result");
		ResourceCalculator calculator = workload.get("drf").asBoolean() ? new DominantResourceCalculator() : new DefaultResourceCalculator();
		JsonNode total = workload.get("total");

		try
		{
			RLESparseResourceAllocation merged = RLESparseResourceAllocation.merge(calculator,
				Resource.newInstance(total.get(0).asLong(), total.get(1).asInt()), steps(workload.get("a"), calculator), steps(workload.get("b"), calculator),
				RLEOperator.valueOf(workload.get("operator").asText()), workload.get("from").asLong(), workload.get("to").asLong());

			result.set("value", Reservation.steps(merged));
		}
		catch (Exception e)
		{
			result.put("error", e.getClass().getSimpleName());
		}
		return record;
	}

	private static RLESparseResourceAllocation steps(JsonNode rows, ResourceCalculator calculator)
	{
		TreeMap<Long, Resource> steps = new TreeMap<>();

		for (JsonNode row : rows)
			steps.put(row.get(0).asLong(), row.get(1).isNull() ? null : Resource.newInstance(row.get(1).asLong(), row.get(2).asInt()));
		return new RLESparseResourceAllocation(steps, calculator);
	}

	@Override
	public String[] families()
	{
		return new String[] {"add", "subtract", "min", "max", "subtractTestNonNegative"};
	}

	@Override
	public ObjectNode generate(String family, long seed)
	{
		Random random = new Random(seed);
		ObjectNode workload = Oracle.JSON.createObjectNode().put("id", "plan-algebra-" + seed).put("family", "rle");
		int from = random.nextInt(30);

		addSteps(workload.putArray("a"), random);
		addSteps(workload.putArray("b"), random);
		workload.put("operator", family).put("drf", random.nextBoolean()).put("from", from).put("to", from + 1 + random.nextInt(60));
		workload.putArray("total").add(102400).add(100);
		return workload;
	}

	private static void addSteps(ArrayNode rows, Random random)
	{
		for (int time = random.nextInt(8); time < 60; time += 1 + random.nextInt(15))
			rows.addArray().add(time).add(random.nextInt(20) * 512).add(random.nextInt(20));
	}
}
