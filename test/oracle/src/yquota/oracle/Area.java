package yquota.oracle;

import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The interface of an area of the oracle. */
interface Area
{
	/**
	 * Plays a workload and returns its record. A record can be played again as a workload, because
	 * its results are ignored.
	 */
	ObjectNode record(ObjectNode workload) throws Exception;

	/** Makes a workload. The same seed makes the same workload. */
	ObjectNode generate(String family, long seed) throws Exception;

	/** Returns the families of workloads that generate() knows. */
	String[] families();

	/** Reads workloads or records, one a line. Other lines may stand between them. */
	default List<ObjectNode> read(BufferedReader in) throws IOException
	{
		List<ObjectNode> lines = new ArrayList<>();

		for (String line; (line = in.readLine()) != null;)
			if (line.startsWith("{"))
				lines.add((ObjectNode) Oracle.JSON.readTree(line));
		return lines;
	}

	/** Writes a workload or record so that read() can read it. */
	default String write(ObjectNode record) throws IOException
	{
		return Oracle.JSON.writeValueAsString(record);
	}

	/**
	 * Returns whether the input of a record determines its result, so that a new play must give the
	 * same result.
	 */
	default boolean isDetermined(ObjectNode record)
	{
		return true;
	}
}
