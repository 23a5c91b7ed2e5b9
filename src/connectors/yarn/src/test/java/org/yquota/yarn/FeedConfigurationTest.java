package org.yquota.yarn;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;

import java.io.IOException;

import org.apache.hadoop.conf.Configuration;
import org.junit.Test;

/** The configuration by itself. */
public class FeedConfigurationTest {
	private static FeedConfiguration of(String url) throws IOException {
		Configuration conf = new Configuration(false);

		conf.set(FeedConfiguration.URL, url);
		conf.set(FeedConfiguration.PASSWORD, "of the property");
		conf.set(FeedConfiguration.SPOOL_DIRECTORY, "/spool");
		return new FeedConfiguration(conf);
	}

	@Test
	public void passwordsAreNoPartOfTheUrl() throws IOException {
		FeedConfiguration conf = of("jdbc:postgresql://a,b/quota?user=feeder&password=s%26+cret&sslPassword=other&targetServerType=primary");

		assertEquals("jdbc:postgresql://a,b/quota?user=feeder&targetServerType=primary", conf.url);
		assertEquals("s& cret", conf.connectionProperties(1).getProperty("password"));
		assertEquals("other", conf.connectionProperties(1).getProperty("sslPassword"));
	}

	@Test
	public void aUserBeforeTheHostIsRefusedUnsaid() {
		for (String url : new String[] {"jdbc:postgresql://feeder:s3cret@a/quota", "jdbc:postgresql://feeder:s3cret@a:5432/quota?ssl=true"}) {
			assertFalse(assertThrows(IOException.class, () -> of(url)).getMessage().contains("s3cret"));
		}
	}

	@Test
	public void aUrlWithoutPasswordStaysAsItIs() throws IOException {
		assertEquals("jdbc:postgresql://a/quota?ssl=true", of("jdbc:postgresql://a/quota?ssl=true").url);
		assertEquals("jdbc:postgresql://a/quota", of("jdbc:postgresql://a/quota").url);
		assertEquals("jdbc:postgresql://a/quota", of("jdbc:postgresql://a/quota?password=x").url);
		assertEquals("of the property", of("jdbc:postgresql://a/quota").connectionProperties(1).getProperty("password"));
		assertEquals("x", of("jdbc:postgresql://a/quota?password=x").connectionProperties(1).getProperty("password"));
	}
}
