/*-------------------------------------------------------------------------
 *
 * hadoop_xml.h
 *	  The properties in a configuration file of Hadoop (docs/hadoop-properties.md).
 *
 * As Hadoop reads them: names are trimmed, values are not; an empty value is the
 * same as none; final is the word true and nothing else.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_HADOOP_XML_H
#define YQ_HADOOP_XML_H

/* Valid while it is handed out. */
typedef struct YqHadoopProperty
{
	const char *name;			/* NULL: an include, which is not followed */
	int			name_length;	/* bytes */
	const char *value;			/* NULL: none is given */
	int			value_length;
	bool		final;
} YqHadoopProperty;

typedef void (*YqHadoopPropertyReader) (const YqHadoopProperty *property, void *argument);

/*
 * Hand out the properties of a document in its order.  Errors:
 * ERRCODE_INVALID_XML_DOCUMENT with the line where the text is no XML or no
 * configuration, ERRCODE_FEATURE_NOT_SUPPORTED for declarations.
 */
extern void yq_hadoop_xml_read(const char *text, YqHadoopPropertyReader put, void *argument);

#endif							/* YQ_HADOOP_XML_H */
