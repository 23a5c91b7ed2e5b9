package org.yquota.yarn;

import java.io.File;
import java.io.IOException;
import java.net.URLDecoder;
import java.util.Locale;
import java.util.Properties;
import java.util.StringJoiner;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Properties of the feed in yarn-site.xml. README.md describes them.
 */
final class FeedConfiguration {
	static final String PREFIX = "yquota.feed.";
	static final String URL = PREFIX + "url";
	static final String USER = PREFIX + "user";
	static final String PASSWORD = PREFIX + "password";
	static final String SOURCE = PREFIX + "source";
	static final String SPOOL_DIRECTORY = PREFIX + "spool.directory";
	static final String SPOOL_MOST_MB = PREFIX + "spool.most-mb";
	static final String QUEUE_MOST_RECORDS = PREFIX + "queue.most-records";
	static final String BATCH_MOST_RECORDS = PREFIX + "batch.most-records";
	static final String PROJECT_FROM = PREFIX + "project.from";
	static final String COMPUTE_INTERVAL = PREFIX + "compute-interval-ms";
	static final String RECONCILE_DELAY = PREFIX + "reconcile-delay-ms";
	static final String RECONCILE_INTERVAL = PREFIX + "reconcile-interval-ms";
	static final String APPLICATIONS = PREFIX + "applications";
	static final String ASK_TIMEOUT = PREFIX + "ask.timeout-ms";
	static final String ASK_ACCEPTS_WHEN_AWAY = PREFIX + "ask.accepts-when-away";

	/** Whether the feed reports applications to yquota, or also asks yquota about them. */
	enum Applications { NONE, TELL, ASK }

	/** The source of a container's project. */
	enum ProjectFrom { USERNAME, QUEUE, TAG }

	/** the URL without passwords, because logs and errors of the driver show it */
	final String url;
	final String source;
	final File spoolDirectory;
	final long spoolMostBytes;
	final int queueMostRecords;
	final int batchMostRecords;
	final ProjectFrom projectFrom;
	/** beginning of the tag that names the project, such as "project:" */
	final String projectTagPrefix;
	final long computeInterval;
	final long reconcileDelay;
	final long reconcileInterval;
	final Applications applications;
	final int askTimeout;
	final boolean askAcceptsWhenAway;
	private final String user;
	private final String password;
	/** passwords of the URL */
	private final Properties secrets = new Properties();

	FeedConfiguration(Configuration conf) throws IOException {
		url = withoutSecrets(required(conf, URL));
		user = conf.get(USER);
		char[] secret = conf.getPassword(PASSWORD);
		password = secret == null ? null : new String(secret);
		source = conf.get(SOURCE, conf.get(YarnConfiguration.RM_CLUSTER_ID, "yarn"));
		spoolDirectory = new File(required(conf, SPOOL_DIRECTORY));
		spoolMostBytes = positive(conf, SPOOL_MOST_MB, 1024) << 20;
		queueMostRecords = (int) positive(conf, QUEUE_MOST_RECORDS, 100_000);
		batchMostRecords = (int) positive(conf, BATCH_MOST_RECORDS, 1000);
		String from = conf.get(PROJECT_FROM, "username");
		if (from.startsWith("tag:") && from.length() > 4) {
			projectFrom = ProjectFrom.TAG;
			projectTagPrefix = from.substring(4) + ":";
		} else if (from.equals("username") || from.equals("queue")) {
			projectFrom = ProjectFrom.valueOf(from.toUpperCase(Locale.ROOT));
			projectTagPrefix = null;
		} else {
			throw new IOException(PROJECT_FROM + " is \"" + from + "\", neither username, queue nor tag:NAME");
		}
		computeInterval = positive(conf, COMPUTE_INTERVAL, 10_000);
		reconcileDelay = positive(conf, RECONCILE_DELAY, conf.getTimeDuration(YarnConfiguration.RM_NM_EXPIRY_INTERVAL_MS,
			YarnConfiguration.DEFAULT_RM_NM_EXPIRY_INTERVAL_MS, java.util.concurrent.TimeUnit.MILLISECONDS));
		reconcileInterval = positive(conf, RECONCILE_INTERVAL, 3_600_000);
		applications = conf.getEnum(APPLICATIONS, Applications.NONE);
		askTimeout = (int) positive(conf, ASK_TIMEOUT, 5000);
		askAcceptsWhenAway = conf.getBoolean(ASK_ACCEPTS_WHEN_AWAY, true);
	}

	/** Returns the properties of a connection whose statements may take "timeout" milliseconds. */
	Properties connectionProperties(int timeout) {
		Properties properties = new Properties();

		if (user != null) {
			properties.setProperty("user", user);
		}
		if (password != null) {
			properties.setProperty("password", password);
		}
		// Parameters of the URL take precedence, as in the driver.
		properties.putAll(secrets);
		properties.setProperty("ApplicationName", "yquota-yarn-feed");
		properties.setProperty("connectTimeout", "10");
		properties.setProperty("socketTimeout", Integer.toString((timeout + 999) / 1000));
		properties.setProperty("tcpKeepAlive", "true");
		return properties;
	}

	/** Removes parameters that are passwords from a JDBC URL. */
	private String withoutSecrets(String whole) throws IOException {
		int start = whole.indexOf('?');
		StringJoiner rest = new StringJoiner("&", "?", "").setEmptyValue("");

		// The driver refuses a user before the host, and its error shows the whole URL.
		if (whole.lastIndexOf('@', start < 0 ? whole.length() : start) >= 0) {
			throw new IOException(URL + " has an @: name the user and the password in " + USER + " and " + PASSWORD);
		}
		if (start < 0) {
			return whole;
		}
		for (String parameter : whole.substring(start + 1).split("&")) {
			int equals = parameter.indexOf('=');
			String name = equals < 0 ? parameter : parameter.substring(0, equals);
			if (equals >= 0 && name.toLowerCase(Locale.ROOT).endsWith("password")) {
				secrets.setProperty(name, URLDecoder.decode(parameter.substring(equals + 1), "UTF-8"));
			} else if (!parameter.isEmpty()) {
				rest.add(parameter);
			}
		}
		return whole.substring(0, start) + rest;
	}

	private static String required(Configuration conf, String name) throws IOException {
		String value = conf.getTrimmed(name, "");

		if (value.isEmpty()) {
			throw new IOException("yarn-site.xml lacks the property " + name);
		}
		return value;
	}

	private static long positive(Configuration conf, String name, long otherwise) throws IOException {
		long value = conf.getLong(name, otherwise);

		if (value <= 0 || value > Integer.MAX_VALUE) {
			throw new IOException(name + " is " + value + ", not between 1 and " + Integer.MAX_VALUE);
		}
		return value;
	}
}
