/*-------------------------------------------------------------------------
 *
 * hadoop_xml.h
 *	  The properties in a configuration file of Hadoop (docs/hadoop-properties.md).
 *
 * The reader follows Hadoop.  It trims names but not values.  An empty value counts as
 * missing.  A property is final only if the element contains the word true.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_HADOOP_XML_H
#define YQ_HADOOP_XML_H

/* A property of a configuration file.  It is valid only until the callback returns. */
typedef struct YqHadoopProperty
{
	const char *name;			/* NULL for an XInclude, which names another file and is not read */
	int			name_length;	/* bytes */
	const char *value;			/* NULL when missing */
	int			value_length;
	bool		final;
} YqHadoopProperty;

typedef void (*YqHadoopPropertyReader) (const YqHadoopProperty *property, void *argument);

/*
 * Call the callback for each property of a document, in order.  Raises
 * ERRCODE_INVALID_XML_DOCUMENT, with the line number, if the text is neither XML nor a
 * configuration.  Raises ERRCODE_FEATURE_NOT_SUPPORTED for document type declarations.
 */
extern void yq_hadoop_xml_read(const char *text, YqHadoopPropertyReader put, void *argument);

#endif							/* YQ_HADOOP_XML_H */
