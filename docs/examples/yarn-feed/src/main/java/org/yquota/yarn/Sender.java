package org.yquota.yarn;

import java.io.File;
import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

import org.postgresql.PGConnection;
import org.postgresql.util.PSQLWarning;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings records of the spool to the database, in their order: events by COPY, in batches, other
 * records by a call each.
 *
 * <p>While the database is away, or refuses for a reason that may pass, the sender tries again,
 * each time a little later.  A record that the server cannot read goes to the file {@code refused}
 * of the spool with the server's message; what is wrong with an event otherwise, the
 * server sets aside.  A batch of which the answer is lost is sent again, which is harmless.
 */
final class Sender implements Runnable {
	private static final Logger LOG = LoggerFactory.getLogger(Sender.class);
	private static final int STATEMENT_TIMEOUT = 60_000;
	private static final long LONGEST_PAUSE = 10_000;
	/** What does not pass by waiting: data that cannot be read or violates a rule, limits of the program. */
	private static final Pattern REFUSED = Pattern.compile("(22|23|54|55000|0A|P0).*");
	private static final String COPY = "COPY yquota.container_event (" + Records.EVENT_COLUMNS + ") FROM STDIN";

	/** Statements of records that are no events; parameters are text. */
	private static final Map<String, String> CALLS = new HashMap<>();

	static {
		CALLS.put(Records.OUTAGE, "SELECT yquota.report_outage(o.since, o.recovered, 'resource manager ' || o.source || ' did not run')"
			+ " FROM (SELECT p.source, coalesce(p.since::timestamptz, (SELECT s.last_event_at FROM yquota.feed_status AS s"
			+ " WHERE s.source = p.source)) AS since, p.recovered::timestamptz AS recovered"
			+ " FROM (VALUES (?, ?, ?)) AS p (source, since, recovered)) AS o WHERE o.since < o.recovered");
		CALLS.put(Records.RECONCILE, "SELECT * FROM yquota.reconcile(?::jsonb, ?::timestamptz, false)");
		CALLS.put(Records.NODE, "SELECT yquota.register_node(?, ?::yquota.resource, ?, ?, ?::timestamptz)");
		CALLS.put(Records.NODE_LOST, "SELECT * FROM yquota.node_lost(?, ?::timestamptz)");
		CALLS.put(Records.APPLICATION, Admission.SUBMIT);
		CALLS.put(Records.APPLICATION_END, "SELECT yquota.finish_application(?, ?::yquota.application_state, ?)");
	}

	private final FeedConfiguration conf;
	private final Spool spool;
	private volatile boolean isStopping;
	private Connection connection;
	private long pause;

	Sender(FeedConfiguration conf, Spool spool) {
		this.conf = conf;
		this.spool = spool;
	}

	void stop() {
		isStopping = true;
	}

	@Override
	public void run() {
		while (!isStopping) {
			try {
				List<String> records = spool.read(conf.batchMostRecords, 1000);
				if (!records.isEmpty()) {
					sendFirst(records);
					pause = 0;
				}
			} catch (SQLException e) {
				LOG.warn("The database does not take events now, SQLSTATE {}: {}", e.getSQLState(), e.getMessage());
				disconnect();
				waitLonger();
			} catch (IOException | RuntimeException e) {
				LOG.error("The feed failed to send", e);
				disconnect();
				waitLonger();
			} catch (InterruptedException e) {
				break;
			}
		}
		disconnect();
	}

	/** Send what goes in one statement: all events at the beginning, or the first record. */
	private void sendFirst(List<String> records) throws SQLException, IOException {
		int count = 0;

		while (count < records.size() && isEvent(records.get(count))) {
			count++;
		}
		List<String> batch = records.subList(0, Math.max(count, 1));
		send(batch);
		spool.taken(batch.size());
	}

	private static boolean isEvent(String record) {
		return record.startsWith(Records.EVENT + "\t");
	}

	/** Halve what the server cannot read, until the record stands alone. */
	private void send(List<String> records) throws SQLException, IOException {
		try {
			if (isEvent(records.get(0))) {
				copy(records);
			} else {
				call(records.get(0));
			}
		} catch (SQLException e) {
			if (e.getSQLState() == null || !REFUSED.matcher(e.getSQLState()).matches()) {
				throw e;
			}
			connection.rollback();
			if (records.size() == 1) {
				keepRefused(records.get(0), e);
			} else {
				send(records.subList(0, records.size() / 2));
				send(records.subList(records.size() / 2, records.size()));
			}
		}
	}

	private void copy(List<String> records) throws SQLException, IOException {
		StringBuilder rows = new StringBuilder();

		for (String record : records) {
			rows.append(record, Records.EVENT.length() + 1, record.length()).append('\n');
		}
		connect();
		try (Statement setting = connection.createStatement()) {
			setting.execute("SET LOCAL yquota.on_bad_event = set_aside");
		}
		connection.unwrap(PGConnection.class).getCopyAPI().copyIn(COPY, new StringReader(rows.toString()));
		logWarnings(connection.getWarnings());
		connection.clearWarnings();
		connection.commit();
	}

	private void call(String record) throws SQLException {
		String kind = record.substring(0, Math.max(record.indexOf('\t'), 0));
		String[] values = Records.values(record);

		if (!CALLS.containsKey(kind)) {
			throw new SQLException("record of an unknown kind", "22023");
		}
		connect();
		try (PreparedStatement statement = connection.prepareStatement(CALLS.get(kind))) {
			for (int i = 0; i < values.length; i++) {
				statement.setString(i + 1, values[i]);
			}
			statement.execute();
			logWarnings(statement.getWarnings());
		}
		connection.commit();
	}

	/** What the server has set aside. */
	private static void logWarnings(SQLWarning first) {
		for (SQLWarning warning = first; warning != null; warning = warning.getNextWarning()) {
			LOG.warn("{}", warning instanceof PSQLWarning ? ((PSQLWarning) warning).getServerErrorMessage() : warning.getMessage());
		}
	}

	private void keepRefused(String record, SQLException e) throws IOException {
		String line = e.getSQLState() + "\t" + e.getMessage().replace('\n', ' ') + "\t" + record + "\n";

		LOG.error("The database refused a record, SQLSTATE {}: {}: {}", e.getSQLState(), e.getMessage(), record);
		Files.write(new File(conf.spoolDirectory, "refused").toPath(), Collections.singleton(line.trim()), StandardCharsets.UTF_8,
			StandardOpenOption.CREATE, StandardOpenOption.APPEND);
	}

	private void connect() throws SQLException {
		if (connection == null) {
			connection = DriverManager.getConnection(conf.url, conf.connectionProperties(STATEMENT_TIMEOUT));
			connection.setAutoCommit(false);
			LOG.info("Connected to {}", conf.url);
		}
	}

	private void disconnect() {
		if (connection != null) {
			try {
				connection.close();
			} catch (SQLException e) {
				LOG.debug("Cannot close the connection", e);
			}
			connection = null;
		}
	}

	private void waitLonger() {
		pause = Math.min(LONGEST_PAUSE, Math.max(100, 2 * pause));
		try {
			Thread.sleep(pause);
		} catch (InterruptedException e) {
			isStopping = true;
		}
	}
}
