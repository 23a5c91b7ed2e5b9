package org.yquota.yarn;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Resource;

/**
 * Gives a feed records that the server refuses: first a node that the feed may not register, then
 * calls and an event that the server never accepts. A container that is accepted comes last.
 *
 * <p>Arguments: directory of the spool, JDBC URL.  See Caller.
 */
public final class RefusedRun {
	private static final String SOURCE = "refused";

	private RefusedRun() {
	}

	public static void main(String[] arguments) throws Exception {
		Configuration conf = new Configuration(false);

		conf.set(FeedConfiguration.SPOOL_DIRECTORY, arguments[0]);
		conf.set(FeedConfiguration.URL, arguments[1]);
		conf.set(FeedConfiguration.SOURCE, SOURCE);
		Feed feed = new Feed(new FeedConfiguration(conf));
		feed.start(System.currentTimeMillis(), asOf -> "[]");
		feed.tell(Records.record(Records.NODE, "n1:1", "[vcores=1]", "/r", "", "2026-03-02T10:00:00Z"));
		feed.tell(Records.record(Records.APPLICATION_END, "application_1_0001", "FINISHED", "never\theard of"));
		feed.tell(Records.record(Records.APPLICATION_MOVE, "application_1_0001", "root.batch"));
		feed.tell(new Records.Event("CONTAINER_END", "unreadable", 1_772_445_600_000L, SOURCE).record());
		feed.tell(Records.record("novelty", "1"));
		feed.tell(Records.reconcile("[{\"container_id\": \"unpaid\", \"project\": \"nobody\", \"allocation\": \"[vcores=1]\", \"started_at\": \"2026-03-02T10:00:00Z\"},"
			+ " {\"container_id\": \"listed\", \"project\": \"lab\", \"allocation\": \"[vcores=1]\", \"started_at\": \"2026-03-02T10:00:00Z\"}]",
			System.currentTimeMillis() - 1000, SOURCE));
		feed.tell(new Records.Event("CONTAINER_START", "after", System.currentTimeMillis(), SOURCE).project("lab")
			.allocation(Resource.newInstance(1024, 1)).record());
		Caller.reached("the end");
		feed.stop();
		System.exit(0);
	}
}
