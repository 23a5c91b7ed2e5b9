package org.yquota.yarn;

import java.io.File;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Resource;

/**
 * Gives a feed more records than its spool may have while the database is away.
 *
 * <p>Arguments: directory of the spool, JDBC URL.  See Caller.
 */
public final class FullSpoolRun {
	private static final int CONTAINERS = 60_000;
	private static final String SOURCE = "full";

	private FullSpoolRun() {
	}

	public static void main(String[] arguments) throws Exception {
		Configuration conf = new Configuration(false);

		conf.set(FeedConfiguration.SPOOL_DIRECTORY, new File(arguments[0]).getPath());
		conf.set(FeedConfiguration.URL, arguments[1]);
		conf.set(FeedConfiguration.SOURCE, SOURCE);
		conf.set(FeedConfiguration.SPOOL_MOST_MB, "1");
		conf.set(FeedConfiguration.COMPUTE_INTERVAL, "500");
		// A comparison within this time would be lost like other records, because the database is still away.
		conf.set(FeedConfiguration.RECONCILE_DELAY, "6000");
		Feed feed = new Feed(new FeedConfiguration(conf));
		long start = System.currentTimeMillis();
		feed.start(start, FullSpoolRun::running);
		for (int i = 0; i < CONTAINERS; i++) {
			feed.tell(new Records.Event("CONTAINER_START", "container_" + i, start, SOURCE).project("lab")
				.allocation(Resource.newInstance(1024, 1)).record());
			if (i % 1000 == 0) {
				Thread.sleep(20);
			}
		}
		Thread.sleep(2000);
		Caller.reached("a full spool");
		Caller.reached("room again");
		feed.stop();
	}

	/** Returns the first container, whose record is in the spool, and the last container, whose record was lost. */
	private static String running(long asOf) {
		String started = Records.time(asOf - 1000);
		String one = "{\"container_id\": \"container_%d\", \"project\": \"lab\", \"allocation\": \"[memory-mb=1024,vcores=1]\"%s}";

		return "[" + String.format(one, 0, "") + ", "
			+ String.format(one, CONTAINERS - 1, ", \"started_at\": \"" + started + "\"") + "]";
	}
}
