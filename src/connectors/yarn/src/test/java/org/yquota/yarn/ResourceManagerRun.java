package org.yquota.yarn;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;

import org.apache.hadoop.ha.HAServiceProtocol.RequestSource;
import org.apache.hadoop.ha.HAServiceProtocol.StateChangeRequestInfo;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeEventType;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/**
 * Runs a ResourceManager of a pair, which is on standby at first.
 *
 * <p>Arguments: directory, JDBC URL, rm1 or rm2, ports (see ClusterConfiguration), name of the spool. Lines of standard
 * input are commands: {@code active}, {@code standby}, {@code lose HOST:PORT}. The program answers each with
 * {@code reached} and the line. At an empty line it stops.
 */
public final class ResourceManagerRun {
	private ResourceManagerRun() {
	}

	public static void main(String[] arguments) {
		try {
			run(arguments);
			System.exit(0);
		} catch (Exception e) {
			// Otherwise threads of the ResourceManager would keep the process running.
			e.printStackTrace();
			System.exit(1);
		}
	}

	private static void run(String[] arguments) throws Exception {
		File directory = new File(arguments[0]);
		String id = arguments[2];
		YarnConfiguration conf = ClusterConfiguration.make(directory, arguments[3]);
		StateChangeRequestInfo request = new StateChangeRequestInfo(RequestSource.REQUEST_BY_USER_FORCED);

		conf.set(YarnConfiguration.RM_HA_ID, id);
		conf.set(YarnConfiguration.RM_SCHEDULER, AccountingScheduler.class.getName());
		conf.set(AccountingScheduler.FILE, new File(directory, "account." + id).getPath());
		conf.set(FeedConfiguration.URL, arguments[1]);
		conf.set(FeedConfiguration.SPOOL_DIRECTORY, new File(directory, arguments[4]).getPath());
		conf.set(FeedConfiguration.COMPUTE_INTERVAL, "500");
		// Compare containers only when the test has made the file that asks for it.
		conf.set(FeedConfiguration.RECONCILE_DELAY, "3600000");
		conf.set(FeedConfiguration.BATCH_MOST_RECORDS, "50");
		conf.set(FeedConfiguration.APPLICATIONS, "ASK");
		conf.set(FeedConfiguration.ASK_TIMEOUT, "2000");

		// Otherwise the smallest allocation would come from a yarn-site.xml that does not exist.
		ResourceUtils.resetResourceTypes(conf);
		ResourceManager manager = new ResourceManager();
		manager.init(conf);
		manager.start();
		say("standby");
		BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
		for (String line = input.readLine(); line != null && !line.isEmpty(); line = input.readLine()) {
			if (line.equals("active")) {
				manager.getRMContext().getRMAdminService().transitionToActive(request);
			} else if (line.equals("standby")) {
				manager.getRMContext().getRMAdminService().transitionToStandby(request);
			} else {
				manager.getRMContext().getDispatcher().getEventHandler()
					.handle(new RMNodeEvent(NodeId.fromString(line.substring("lose ".length())), RMNodeEventType.EXPIRE));
			}
			say(line);
		}
		manager.stop();
	}

	private static void say(String line) {
		System.out.println("reached " + line);
		System.out.flush();
	}
}
