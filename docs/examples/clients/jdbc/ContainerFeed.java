import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Types;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;

/**
 * Sends a file of container events to yquota with JDBC, in batches that the driver rewrites to INSERTs of many rows.
 *
 * <pre>java -cp postgresql.jar ContainerFeed.java jdbc:postgresql://HOST/DATABASE?user=USER SOURCE FILE</pre>
 *
 * <p>SOURCE is the name of the feed.  Each line of FILE is one event: the values of {@link #COLUMNS}, separated by
 * tabs.  An empty value means unknown.
 *
 * <p>If the answer to a batch is lost, the program sends the batch again.  You may also send the whole file again,
 * because events that yquota already knows change nothing.  The exit status is 0 when all events are sent.  Events that
 * the server will never accept are printed, and set aside in yquota.feed_reject.
 */
public final class ContainerFeed {
	private static final List<String> COLUMNS = Arrays.asList("event", "container_id", "occurred_at", "project",
		"application_id", "username", "queue", "node", "allocation", "execution_type", "exit_status");
	private static final String INSERT = "INSERT INTO yquota.container_event (" + String.join(", ", COLUMNS)
		+ ", source) VALUES (" + "?, ".repeat(COLUMNS.size()) + "?)";
	/** The driver makes INSERTs of 128 rows, and smaller ones for the rest of a batch. */
	private static final int BATCH_EVENTS = 512;
	private static final long LONGEST_PAUSE_MS = 10_000;

	/**
	 * Classes and codes of SQLSTATE: first those after which the program retries, then those that need an
	 * administrator. After any other error, the program sets the row aside. The driver reports 08 if there is no
	 * connection, or if it broke.
	 */
	private static final Pattern MAY_PASS = Pattern.compile("(08|40|53(?!400)|57|58|25006|55P03).*");
	private static final Pattern TO_BE_MENDED = Pattern.compile("(28|3D|3F|XX|42501|42883|42P01).*");

	private static final String REJECT = "SELECT yquota.reject_call(?, jsonb_build_object('table', 'yquota.container_event',"
		+ " 'row', jsonb_strip_nulls(jsonb_object(?, ?))), ?, ?)";

	/** Work in the database, in one transaction. */
	private interface Work {
		void doWith(Connection connection) throws SQLException;
	}

	/** An event in the types of the driver. */
	private static final class Event {
		private final String[] values;
		private final OffsetDateTime occurredAt;

		Event(String line) {
			values = line.split("\t", -1);
			if (values.length != COLUMNS.size()) {
				throw new IllegalArgumentException(values.length + " values");
			}
			occurredAt = OffsetDateTime.parse(values[COLUMNS.indexOf("occurred_at")]);
		}

		void addTo(PreparedStatement statement, String source) throws SQLException {
			int parameter = 0;

			for (String column : COLUMNS) {
				String text = values[parameter++];

				if (column.equals("occurred_at")) {
					statement.setObject(parameter, occurredAt);
				} else if (column.equals("exit_status")) {
					statement.setObject(parameter, text.isEmpty() ? null : Integer.valueOf(text), Types.INTEGER);
				} else {
					statement.setString(parameter, text.isEmpty() ? null : text);
				}
			}
			statement.setString(parameter + 1, source);
			statement.addBatch();
		}
	}

	private final String url;
	private final String source;
	private Connection connection;
	/** whether an earlier run of the program may have reported a problem */
	private boolean mayHaveProblem = true;

	private ContainerFeed(String url, String source) {
		this.url = url;
		this.source = source;
	}

	private Connection connected() throws SQLException {
		if (connection == null) {
			Properties properties = new Properties();
			properties.setProperty("reWriteBatchedInserts", "true");
			properties.setProperty("ApplicationName", "ContainerFeed");
			properties.setProperty("connectTimeout", "10");
			properties.setProperty("socketTimeout", "60");
			// its errors, unlike those of getConnection(), never contain the URL, which may have a password
			connection = DriverManager.getDriver(url).connect(url, properties);
			connection.setAutoCommit(false);
		}
		return connection;
	}

	private void disconnect() {
		if (connection != null) {
			try {
				connection.close();
			} catch (SQLException e) {
				System.err.println("closing the connection: " + e.getMessage());
			}
			connection = null;
		}
	}

	/** Does the work and commits it, and repeats this after errors that a retry or an administrator may solve. */
	private void untilDone(Work work) throws SQLException, InterruptedException {
		for (long pause = 100;; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
			try {
				work.doWith(connected());
				connection.commit();
				if (mayHaveProblem) {
					mayHaveProblem = false;
					reportProblem(null, null);
				}
				return;
			} catch (SQLException e) {
				boolean isToBeMended = TO_BE_MENDED.matcher(String.valueOf(e.getSQLState())).matches();
				disconnect();
				if (!isToBeMended && !MAY_PASS.matcher(String.valueOf(e.getSQLState())).matches()) {
					throw e;
				}
				System.err.println("trying again: SQLSTATE " + e.getSQLState() + ": " + reason(e));
				if (isToBeMended) {
					mayHaveProblem = true;
					reportProblem(e.getSQLState(), reason(e));
				}
			}
			Thread.sleep(pause);
		}
	}

	/** Reports the problem that makes the feed wait. Without an SQLSTATE, reports that the feed continues. */
	private void reportProblem(String state, String message) {
		try (PreparedStatement statement = connected().prepareStatement("SELECT yquota.report_feed_problem(?, ?, ?)")) {
			statement.setString(1, source);
			statement.setString(2, state);
			statement.setString(3, message);
			statement.execute();
			connection.commit();
		} catch (SQLException e) {
			System.err.println("the problem cannot be reported: " + e.getMessage());
			disconnect();
		}
	}

	/** Sets aside a row that the server refuses, or that cannot even be sent. */
	private void refuse(List<String> names, String[] values, String state, String message) throws InterruptedException {
		String[] texts = Arrays.stream(values).map(value -> value.isEmpty() ? null : value).toArray(String[]::new);

		System.err.println("refused: SQLSTATE " + state + ": " + message + ": " + Arrays.toString(values));
		try {
			untilDone(connection -> {
				try (PreparedStatement statement = connection.prepareStatement(REJECT)) {
					statement.setString(1, source);
					statement.setArray(2, connection.createArrayOf("text", names.toArray()));
					statement.setArray(3, connection.createArrayOf("text", texts));
					statement.setString(4, state);
					statement.setString(5, message);
					statement.execute();
				}
			});
		} catch (SQLException e) {
			System.err.println("it cannot be set aside: " + e.getMessage());
		}
	}

	/** Returns the server's message, without the text of the batch. */
	private static String reason(SQLException e) {
		return e.getNextException() == null ? e.getMessage() : e.getNextException().getMessage();
	}

	private void insert(Connection connection, List<Event> events) throws SQLException {
		try (PreparedStatement statement = connection.prepareStatement(INSERT)) {
			for (Event event : events) {
				event.addTo(statement, source);
			}
			statement.executeBatch();
			for (SQLWarning warning = statement.getWarnings(); warning != null; warning = warning.getNextWarning()) {
				System.err.println("WARNING: " + warning.getMessage());
			}
		}
	}

	/** Sends events in one transaction. If it fails, halves the batch until the bad event is alone. */
	private void send(List<Event> events) throws SQLException, InterruptedException {
		try {
			untilDone(connection -> insert(connection, events));
		} catch (SQLException e) {
			if (events.size() == 1) {
				refuse(COLUMNS, events.get(0).values, e.getSQLState(), reason(e));
				return;
			}
			send(events.subList(0, events.size() / 2));
			send(events.subList(events.size() / 2, events.size()));
		}
	}

	private void sendFile(String path) throws IOException, SQLException, InterruptedException {
		long began = System.nanoTime();
		int count = 0;
		List<Event> batch = new ArrayList<>();

		try (BufferedReader lines = Files.newBufferedReader(Paths.get(path), StandardCharsets.UTF_8)) {
			for (String line = lines.readLine(); line != null; line = lines.readLine()) {
				try {
					batch.add(new Event(line));
				} catch (RuntimeException e) {
					refuse(Collections.singletonList("line"), new String[] {line}, "22P02", e.getMessage());
					continue;
				}
				count++;
				if (batch.size() == BATCH_EVENTS) {
					send(batch);
					batch.clear();
				}
			}
		}
		if (!batch.isEmpty()) {
			send(batch);
		}
		System.err.printf("sent %d events in %.1f s%n", count, (System.nanoTime() - began) / 1e9);
	}

	/** Prints the progress of the feed, and the rows that were set aside. */
	private void report(Connection connection) throws SQLException {
		try (PreparedStatement status = connection.prepareStatement(
				"SELECT events, waiting, rejected, rejected_calls FROM yquota.feed_status WHERE source = ?");
			PreparedStatement rejects = connection.prepareStatement(
				"SELECT coalesce(container_id || ' ' || event, call ->> 'row'), sqlstate, reason FROM yquota.my_rejects"
				+ " WHERE source = ? AND NOT waiting ORDER BY 1")) {
			status.setString(1, source);
			try (ResultSet row = status.executeQuery()) {
				while (row.next()) {
					System.out.printf("%d events received, %d waiting, %d rejected, %d set aside%n", row.getLong(1), row.getLong(2),
						row.getLong(3), row.getLong(4));
				}
			}
			rejects.setString(1, source);
			try (ResultSet row = rejects.executeQuery()) {
				while (row.next()) {
					System.out.printf("rejected: %s %s %s%n", row.getString(1), row.getString(2), row.getString(3));
				}
			}
		}
	}

	public static void main(String[] arguments) throws Exception {
		if (arguments.length != 3) {
			System.err.println("usage: ContainerFeed URL SOURCE FILE");
			System.exit(2);
		}
		ContainerFeed feed = new ContainerFeed(arguments[0], arguments[1]);
		feed.sendFile(arguments[2]);
		feed.untilDone(feed::report);
		feed.disconnect();
	}
}
