package org.yquota.yarn;

import java.io.File;
import java.io.FileWriter;
import java.io.IOException;
import java.io.UncheckedIOException;

import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;

/**
 * Keeps an account of every container beside the feed, from the ResourceManager's own objects. The account is lines of
 * a file, which survive a kill of the process. Times are in milliseconds. The first time is that of the line.
 *
 * <pre>
 * TIME started ID AT MEMORY VCORES TYPE
 * TIME finished ID AT IS_MASTER EXIT_STATUS
 * TIME update ID BEFORE AFTER MEMORY VCORES TYPE           made at some time between the two
 * </pre>
 */
final class Account {
	private final FileWriter file;

	Account(File file) throws IOException {
		this.file = new FileWriter(file, true);
	}

	void allocated(RMContainer container) {
		if (container.getAllocatedSchedulerKey().getContainerToUpdate() == null) {
			write(String.format("started %s %d %d %d %s", container.getContainerId(), container.getCreationTime(),
				container.getAllocatedResource().getMemorySize(), container.getAllocatedResource().getVirtualCores(), container.getExecutionType()));
		}
	}

	void finished(RMContainer container) {
		if (container.getAllocatedSchedulerKey() == null || container.getAllocatedSchedulerKey().getContainerToUpdate() == null) {
			write(String.format("finished %s %d %s %d", container.getContainerId(), container.getFinishTime(), container.isAMContainer(),
				container.getContainerExitStatus()));
		}
	}

	void updated(Container container, long before, long after) {
		write(String.format("update %s %d %d %d %d %s", container.getId(), before, after, container.getResource().getMemorySize(),
			container.getResource().getVirtualCores(), container.getExecutionType()));
	}

	private synchronized void write(String line) {
		try {
			file.write(System.currentTimeMillis() + " " + line + "\n");
			file.flush();
		} catch (IOException e) {
			throw new UncheckedIOException(e);
		}
	}
}
