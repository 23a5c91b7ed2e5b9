package yquota.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.List;
import java.util.TreeSet;

/** The part that all areas share: it reads workloads and writes records. */
final class Oracle
{
	static final ObjectMapper JSON = new ObjectMapper();

	private Oracle()
	{
	}

	/**
	 * Runs one of three commands. "generate SEED COUNT [FAMILY]" prints workloads. "record" reads
	 * workloads and prints their records. "compare COUNT" reads records, plays them again, and
	 * prints which results differ.
	 */
	static void main(Area area, String[] arguments) throws Exception
	{
		// Hadoop's classes print to standard output, which here is for the results.
		PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
		int status = 0;

		System.setOut(System.err);
		switch (arguments[0])
		{
			case "generate":
				generate(area, Long.parseLong(arguments[1]), Integer.parseInt(arguments[2]),
						 arguments.length > 3 ? new String[] {arguments[3]} : area.families(), out);
				break;
			case "record":
				for (ObjectNode workload : read(area))
					out.println(area.write(area.record(workload)));
				break;
			case "compare":
				status = compare(area, read(area), Integer.parseInt(arguments[1]), out);
				break;
			default:
				throw new IllegalArgumentException(arguments[0]);
		}
		out.flush();
		// Threads of Hadoop's services may still run, but nothing depends on them.
		System.exit(status);
	}

	private static void generate(Area area, long seed, int count, String[] families, PrintStream out) throws Exception
	{
		for (int i = 0; i < count; i++)
			out.println(area.write(area.generate(families[i % families.length], seed + i)));
	}

	private static List<ObjectNode> read(Area area) throws Exception
	{
		return area.read(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
	}

	/**
	 * Compares a number of records, spread evenly over all records, because neighbouring records
	 * are of one kind.
	 */
	private static int compare(Area area, List<ObjectNode> records, int count, PrintStream out)
	{
		records.removeIf(record -> !area.isDetermined(record));

		int compared = Math.min(count, records.size());
		int identical = 0;

		for (int i = 0; i < compared; i++)
		{
			ObjectNode recorded = records.get((int) ((long) i * records.size() / compared));
			String name = recorded.path("name").asText(recorded.path("id").asText("workload " + i));
			String difference;

			try
			{
				// The new record is written and read again, so that its numbers have the types that
				// the reader gives them.
				difference = difference("", recorded, JSON.readTree(JSON.writeValueAsString(area.record(recorded.deepCopy()))));
			}
			catch (Exception e)
			{
				difference = e + " at " + e.getStackTrace()[0];
			}
			if (difference == null)
				identical++;
			out.println(name + ": " + (difference == null ? "identical" : difference));
		}
		out.println(identical + " of " + compared + " recorded workloads came out identical");
		return identical == compared ? 0 : 1;
	}

	/** Returns the first place where two records differ, or null. */
	private static String difference(String path, JsonNode recorded, JsonNode found)
	{
		if (recorded.equals(found))
			return null;
		if (recorded.isArray() && found.isArray())
		{
			for (int i = 0; i < Math.max(recorded.size(), found.size()); i++)
			{
				String difference = difference(path + "/" + i, recorded.path(i), found.path(i));

				if (difference != null)
					return difference;
			}
		}
		if (recorded.isObject() && found.isObject())
		{
			TreeSet<String> keys = new TreeSet<>();

			for (JsonNode side : new JsonNode[] {recorded, found})
				for (Iterator<String> names = side.fieldNames(); names.hasNext();)
					keys.add(names.next());
			for (String key : keys)
			{
				String difference = difference(path + "/" + key, recorded.path(key), found.path(key));

				if (difference != null)
					return difference;
			}
		}
		return path + ": recorded " + recorded + ", now " + found;
	}
}
