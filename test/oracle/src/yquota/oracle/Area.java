package yquota.oracle;

import com.fasterxml.jackson.databind.node.ObjectNode;

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
}
