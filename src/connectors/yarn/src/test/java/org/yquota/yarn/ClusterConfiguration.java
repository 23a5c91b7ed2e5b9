package org.yquota.yarn;

import java.io.File;

import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** Configuration of a cluster with two ResourceManagers, rm1 and rm2, that keep their state in one directory. */
final class ClusterConfiguration {
	static final int PACE = 100;
	private static final String[] ADDRESSES = {YarnConfiguration.RM_ADDRESS, YarnConfiguration.RM_SCHEDULER_ADDRESS,
		YarnConfiguration.RM_ADMIN_ADDRESS, YarnConfiguration.RM_RESOURCE_TRACKER_ADDRESS, YarnConfiguration.RM_WEBAPP_ADDRESS};

	private ClusterConfiguration() {
	}

	/** Makes the configuration. "ports" is a list of ten numbers, separated by commas. */
	static YarnConfiguration make(File directory, String ports) {
		YarnConfiguration conf = new YarnConfiguration();
		String[] numbers = ports.split(",");
		int next = 0;

		conf.setBoolean(YarnConfiguration.RM_HA_ENABLED, true);
		conf.setBoolean(YarnConfiguration.AUTO_FAILOVER_ENABLED, false);
		conf.set(YarnConfiguration.RM_HA_IDS, "rm1,rm2");
		conf.set(YarnConfiguration.RM_CLUSTER_ID, "mini");
		for (String id : new String[] {"rm1", "rm2"}) {
			for (String address : ADDRESSES) {
				conf.set(address + "." + id, "localhost:" + numbers[next++]);
			}
		}
		conf.setLong(YarnConfiguration.CLIENT_FAILOVER_SLEEPTIME_BASE_MS, PACE);
		conf.setLong(YarnConfiguration.CLIENT_FAILOVER_SLEEPTIME_MAX_MS, 5 * PACE);
		conf.setInt(YarnConfiguration.CLIENT_FAILOVER_MAX_ATTEMPTS, 600);
		conf.setLong(YarnConfiguration.RESOURCEMANAGER_CONNECT_RETRY_INTERVAL_MS, PACE);
		conf.setBoolean(YarnConfiguration.RECOVERY_ENABLED, true);
		conf.set(YarnConfiguration.RM_STORE, "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore");
		conf.set(YarnConfiguration.FS_RM_STATE_STORE_URI, new File(directory, "state").toURI().toString());
		conf.setBoolean(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_ENABLED, true);
		conf.setLong(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_SCHEDULING_WAIT_MS, 0);
		conf.setBoolean(YarnConfiguration.OPPORTUNISTIC_CONTAINER_ALLOCATION_ENABLED, true);
		conf.setInt(YarnConfiguration.NM_OPPORTUNISTIC_CONTAINERS_MAX_QUEUE_LENGTH, 10);
		conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 128);
		conf.setInt(YarnConfiguration.RM_NM_HEARTBEAT_INTERVAL_MS, PACE);
		conf.setInt(YarnConfiguration.NM_PMEM_MB, 4096);
		conf.setInt(YarnConfiguration.NM_VCORES, 16);
		conf.setLong(YarnConfiguration.NM_PROCESS_KILL_WAIT_MS, 500);
		conf.setBoolean(YarnConfiguration.NM_DISK_HEALTH_CHECK_ENABLE, false);
		conf.setBoolean(YarnConfiguration.NM_PMEM_CHECK_ENABLED, false);
		conf.setBoolean(YarnConfiguration.NM_VMEM_CHECK_ENABLED, false);
		conf.setBoolean(YarnConfiguration.YARN_MINICLUSTER_CONTROL_RESOURCE_MONITORING, false);
		conf.setBoolean(YarnConfiguration.YARN_MINICLUSTER_USE_RPC, true);
		conf.setBoolean(YarnConfiguration.YARN_MINICLUSTER_FIXED_PORTS, true);
		conf.setInt(YarnConfiguration.RM_AM_MAX_ATTEMPTS, 1);
		return conf;
	}
}
