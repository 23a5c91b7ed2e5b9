package yquota.oracle;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

import org.apache.hadoop.security.GroupMappingServiceProvider;

/** The groups of users, the primary group first. A user without an entry has no groups. */
public class UserGroups implements GroupMappingServiceProvider
{
	private static final Map<String, List<String>> GROUPS = new TreeMap<>();

	static void put(String user, String... groups)
	{
		GROUPS.put(user, Arrays.asList(groups));
	}

	@Override
	public List<String> getGroups(String user)
	{
		return new ArrayList<>(GROUPS.getOrDefault(user, Collections.emptyList()));
	}

	@Override
	public Set<String> getGroupsSet(String user)
	{
		return new LinkedHashSet<>(getGroups(user));
	}

	@Override
	public void cacheGroupsRefresh()
	{
	}

	@Override
	public void cacheGroupsAdd(List<String> groups)
	{
	}
}
