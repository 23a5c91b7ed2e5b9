package yquota.oracle;

import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** What one area of the oracle can do. */
interface Area
{
	/**
	 * Plays a workload and returns its record.  The results that a recorded
	 * workload already has are not looked at, so that a record can be its input.
	 */
	ObjectNode record(ObjectNode workload) throws Exception;

	/** A new workload.  The same seed gives the same one. */
	ObjectNode generate(String family, long seed) throws Exception;

	/** The kinds of workloads that generate() knows. */
	String[] families();

	/** Workloads or records: a line each, which other lines may stand between. */
	default List<ObjectNode> read(BufferedReader in) throws IOException
	{
		List<ObjectNode> lines = new ArrayList<>();

		for (String line; (line = in.readLine()) != null;)
			if (line.startsWith("{"))
				lines.add((ObjectNode) Oracle.JSON.readTree(line));
		return lines;
	}

	/** A workload or record as read() takes it. */
	default String write(ObjectNode record) throws IOException
	{
		return Oracle.JSON.writeValueAsString(record);
	}

	/** Is the result of a record a function of its input, so that it comes out again? */
	default boolean isDetermined(ObjectNode record)
	{
		return true;
	}
}
