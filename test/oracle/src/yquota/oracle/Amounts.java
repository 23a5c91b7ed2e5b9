package yquota.oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/** Resources in the notation of the records. */
final class Amounts
{
	private static final String GPU = "yarn.io/gpu";

	private Amounts()
	{
	}

	/** Returns the amounts of all resource types with which the resource manager was started. */
	static String of(Resource resource)
	{
		StringBuilder text = new StringBuilder();

		for (ResourceInformation information : resource.getResources())
			text.append(text.length() == 0 ? "" : " ").append(information.getValue());
		return text.toString();
	}

	static boolean anyOf(Resource resource)
	{
		for (ResourceInformation information : resource.getResources())
			if (information.getValue() != 0)
				return true;
		return false;
	}

	/** Reads {"memory", "vcores", "gpu"}. Null stands for the default size of a container. */
	static Resource read(JsonNode amounts)
	{
		if (amounts == null || amounts.isMissingNode())
			return Resource.newInstance(1024, 1);
		Resource resource = Resource.newInstance(amounts.path("memory").asLong(), amounts.path("vcores").asInt());

		if (ResourceUtils.getResourceTypes().containsKey(GPU))
			resource.setResourceValue(GPU, amounts.path("gpu").asLong());
		return resource;
	}
}
