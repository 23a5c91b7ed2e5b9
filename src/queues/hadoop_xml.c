/*-------------------------------------------------------------------------
 *
 * hadoop_xml.c
 *	  The properties in a configuration file of Hadoop (docs/hadoop-properties.md).
 *
 * The outermost element of such a file is "configuration".  It contains elements "property", each
 * with name, value and final as elements or attributes.  Other content of a property is skipped.
 * The reader takes milliseconds for a file of ten thousand queues, and needs only enough memory for
 * the longest value.  The server's xmltable() would build a tree of the whole file.
 *
 * Entities and includes are never resolved.  The reader refuses a document type
 * declaration, which could define entities, and any reference to an entity except the
 * five that XML itself defines.  It reports includes, but does not read them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "base/compat.h"
#include "queues/hadoop_xml.h"

/* Limit on the depth of nested elements.  Hadoop's files have three levels. */
#define MAX_DEPTH 32

/* Element whose text is being collected, if any. */
typedef enum XmlField
{
	FIELD_NONE,
	FIELD_NAME,
	FIELD_VALUE,
	FIELD_FINAL
} XmlField;

/* A part of the document's text. */
typedef struct XmlSpan
{
	const char *start;
	int			length;
} XmlSpan;

typedef struct XmlReader
{
	const char *text;			/* the whole document, with a terminating zero */
	const char *p;				/* next character */
	XmlSpan		open[MAX_DEPTH];	/* names of the open elements at p */
	int			depth;
	bool		had_root;
	XmlField	field;			/* field for which characters are being collected */
	StringInfoData token;		/* the text or attribute that is being read */

	/* the property that is being read; empty outside of a property */
	StringInfoData name;
	StringInfoData value;
	bool		has_name;
	bool		has_value;
	bool		final;

	YqHadoopPropertyReader put;
	void	   *argument;
} XmlReader;

#define SPAN_IS(span, word) \
	((span).length == (int) strlen(word) && memcmp((span).start, word, (span).length) == 0)

static bool
is_xml_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Is the character a control character that XML does not allow? */
static bool
is_forbidden(unsigned long code)
{
	return code < ' ' && code != '\t' && code != '\n' && code != '\r';
}

pg_noreturn static void
malformed(XmlReader *reader, const char *what)
{
	int			line = 1;

	for (const char *p = reader->text; p < reader->p; p++)
		line += *p == '\n';
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_XML_DOCUMENT),
			 errmsg("invalid configuration file of Hadoop"),
			 errdetail("Line %d: %s.", line, what),
			 errhint("It should be <configuration> with elements <property>, each with <name> and <value>.")));
}

static bool
at(XmlReader *reader, const char *word)
{
	return strncmp(reader->p, word, strlen(word)) == 0;
}

/* Move behind the next occurrence of "end".  "what" names the unclosed construct in the error message. */
static void
skip_past(XmlReader *reader, const char *end, const char *what)
{
	const char *found = strstr(reader->p, end);

	if (found == NULL)
		malformed(reader, what);
	reader->p = found + strlen(end);
}

static void
skip_xml_space(XmlReader *reader)
{
	while (is_xml_space(*reader->p))
		reader->p++;
}

/* Read the name of an element or attribute, up to the first character that cannot be part of the name. */
static XmlSpan
read_xml_name(XmlReader *reader)
{
	XmlSpan		span = {.start = reader->p};

	while (*reader->p != '\0' && !is_xml_space(*reader->p) && strchr("<>/=\"'&", *reader->p) == NULL)
		reader->p++;
	span.length = reader->p - span.start;
	if (span.length == 0)
		malformed(reader, "a name is missing after \"<\"");
	return span;
}

/* Read the reference at p, such as &lt; or &#10;. */
static void
read_reference(XmlReader *reader, StringInfo into)
{
	static const struct
	{
		const char *name;
		char		character;
	}			known[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};

	for (size_t i = 0; i < lengthof(known); i++)
	{
		if (at(reader, known[i].name))
		{
			appendStringInfoChar(into, known[i].character);
			reader->p += strlen(known[i].name);
			return;
		}
	}
	if (at(reader, "&#"))
	{
		bool		is_hex = reader->p[2] == 'x';
		const char *digits = reader->p + (is_hex ? 3 : 2);
		char	   *end;
		unsigned long code;
		unsigned char character[MAX_UNICODE_EQUIVALENT_STRING + 1];

		errno = 0;
		code = strtoul(digits, &end, is_hex ? 16 : 10);
		if (!isxdigit((unsigned char) *digits) || *end != ';' || errno != 0 || is_forbidden(code) ||
			code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
			malformed(reader, "a reference to a character is not one");
		pg_unicode_to_server((pg_wchar) code, character);
		appendStringInfoString(into, (char *) character);
		reader->p = end + 1;
		return;
	}
	malformed(reader, "entities are not resolved; write & as &amp;");
}

/* Read a character of text or of an attribute.  As XML requires, every line end becomes a newline. */
static void
read_character(XmlReader *reader, StringInfo into)
{
	if (*reader->p == '\r')
	{
		appendStringInfoChar(into, '\n');
		reader->p += reader->p[1] == '\n' ? 2 : 1;
		return;
	}
	if (is_forbidden((unsigned char) *reader->p))
		malformed(reader, "there is a control character in the text");
	appendStringInfoChar(into, *reader->p++);
}

/* Read the value of an attribute, including the quotes. */
static void
read_attribute_value(XmlReader *reader, StringInfo into)
{
	char		quote = *reader->p;

	resetStringInfo(into);
	if (quote != '"' && quote != '\'')
		malformed(reader, "the value of an attribute is not quoted");
	reader->p++;
	while (*reader->p != quote)
	{
		if (*reader->p == '\0' || *reader->p == '<')
			malformed(reader, "the value of an attribute does not end");
		if (*reader->p == '&')
			read_reference(reader, into);
		else if (is_xml_space(*reader->p))
		{
			/* XML replaces each white-space character in an attribute by a blank */
			reader->p += reader->p[0] == '\r' && reader->p[1] == '\n' ? 2 : 1;
			appendStringInfoChar(into, ' ');
		}
		else
			read_character(reader, into);
	}
	reader->p++;
}

/* Set a field of the current property to the text of an element or attribute. */
static void
set_field(XmlReader *reader, XmlField field, StringInfo text)
{
	int			start = 0;
	int			end = text->len;

	switch (field)
	{
		case FIELD_NAME:
			/* as Java's String.trim() does, trim control characters, too */
			while (start < end && (unsigned char) text->data[start] <= ' ')
				start++;
			while (end > start && (unsigned char) text->data[end - 1] <= ' ')
				end--;
			resetStringInfo(&reader->name);
			appendBinaryStringInfo(&reader->name, text->data + start, end - start);
			reader->has_name = true;
			break;
		case FIELD_VALUE:
			if (text->len == 0)
				break;
			resetStringInfo(&reader->value);
			appendBinaryStringInfo(&reader->value, text->data, text->len);
			reader->has_value = true;
			break;
		case FIELD_FINAL:
			reader->final = strcmp(text->data, "true") == 0;
			break;
		case FIELD_NONE:
			break;
	}
}

static XmlField
field_of(XmlSpan element)
{
	if (SPAN_IS(element, "name"))
		return FIELD_NAME;
	if (SPAN_IS(element, "value"))
		return FIELD_VALUE;
	if (SPAN_IS(element, "final"))
		return FIELD_FINAL;
	return FIELD_NONE;
}

/* Pass the current property to the callback.  A missing field is NULL. */
static void
put_property(XmlReader *reader, bool has_name, bool has_value)
{
	YqHadoopProperty property = {.final = reader->final};

	if (has_name)
	{
		property.name = reader->name.data;
		property.name_length = reader->name.len;
	}
	if (has_value)
	{
		property.value = reader->value.data;
		property.value_length = reader->value.len;
	}
	reader->put(&property, reader->argument);
}

static void
begin_property(XmlReader *reader)
{
	reader->has_name = reader->has_value = reader->final = false;
}

/* Handle the end of an element.  An empty element (<name/>) ends where it starts. */
static void
end_element(XmlReader *reader, XmlSpan element)
{
	if (reader->depth == 1 && SPAN_IS(element, "property"))
	{
		if (reader->has_name)
			put_property(reader, true, reader->has_value);
	}
	else if (reader->depth == 2 && reader->field != FIELD_NONE)
	{
		set_field(reader, reader->field, &reader->token);
		reader->field = FIELD_NONE;
	}
}

/* Handle the start of an element.  The attributes have not been read yet. */
static void
begin_element(XmlReader *reader, XmlSpan element)
{
	XmlSpan		parent = {0};

	if (reader->depth > 0)
		parent = reader->open[reader->depth - 1];
	if (reader->depth == 0)
	{
		if (reader->had_root || !SPAN_IS(element, "configuration"))
			malformed(reader, "the outermost element is not one <configuration>");
		reader->had_root = true;
	}
	else if (reader->depth == 1 && SPAN_IS(element, "property"))
		begin_property(reader);
	else if (SPAN_IS(element, "include") || SPAN_IS(element, "xi:include"))
		put_property(reader, false, false);
	else if (reader->depth == 2 && SPAN_IS(parent, "property"))
	{
		reader->field = field_of(element);
		resetStringInfo(&reader->token);
	}
}

/* Read the tag at p: <name attribute="value"> or <name/>. */
static void
read_start_tag(XmlReader *reader)
{
	XmlSpan		element;
	bool		is_property;

	reader->p++;
	element = read_xml_name(reader);
	begin_element(reader, element);
	is_property = reader->depth == 1 && SPAN_IS(element, "property");
	for (;;)
	{
		XmlSpan		attribute;
		StringInfoData text;

		skip_xml_space(reader);
		if (*reader->p == '>' || at(reader, "/>"))
			break;
		if (*reader->p == '\0')
			malformed(reader, "a tag does not end");
		attribute = read_xml_name(reader);
		skip_xml_space(reader);
		if (*reader->p != '=')
			malformed(reader, "an attribute has no value");
		reader->p++;
		skip_xml_space(reader);
		initStringInfo(&text);
		read_attribute_value(reader, &text);
		if (is_property)
			set_field(reader, field_of(attribute), &text);
		pfree(text.data);
	}
	if (*reader->p == '>')
	{
		if (reader->depth == MAX_DEPTH)
			malformed(reader, "elements stand too deep within each other");
		reader->open[reader->depth++] = element;
		reader->p++;
	}
	else
	{
		end_element(reader, element);
		reader->p += 2;
	}
}

/* Read the closing tag at p: </name>. */
static void
read_end_tag(XmlReader *reader)
{
	XmlSpan		element;

	reader->p += 2;
	element = read_xml_name(reader);
	skip_xml_space(reader);
	if (*reader->p != '>')
		malformed(reader, "a tag does not end");
	if (reader->depth == 0 || reader->open[reader->depth - 1].length != element.length ||
		memcmp(reader->open[reader->depth - 1].start, element.start, element.length) != 0)
		malformed(reader, "a tag ends an element that it does not belong to");
	reader->p++;
	reader->depth--;
	end_element(reader, element);
}

/* Read text between tags.  Only the text of the elements name, value and final is collected. */
static void
read_text(XmlReader *reader)
{
	StringInfo	into = &reader->token;
	bool		is_wanted = reader->field != FIELD_NONE;

	if (at(reader, "]]>"))
		malformed(reader, "\"]]>\" stands outside of a CDATA section");
	if (reader->depth == 0 && !is_xml_space(*reader->p))
		malformed(reader, "text stands outside of <configuration>");
	if (*reader->p == '&')
	{
		int			length = into->len;

		read_reference(reader, into);
		if (!is_wanted)
		{
			into->len = length;
			into->data[length] = '\0';
		}
	}
	else if (is_wanted)
		read_character(reader, into);
	else
		reader->p++;
}

static void
read_cdata(XmlReader *reader)
{
	const char *start = reader->p + strlen("<![CDATA[");
	const char *end;

	if (reader->depth == 0)
		malformed(reader, "text stands outside of <configuration>");
	skip_past(reader, "]]>", "a CDATA section does not end");
	end = reader->p - strlen("]]>");
	if (reader->field != FIELD_NONE)
	{
		reader->p = start;
		while (reader->p < end)
			read_character(reader, &reader->token);
		reader->p = end + strlen("]]>");
	}
}

static void
read_document(XmlReader *reader)
{
	/* skip the byte order mark that some editors write at the beginning of a file */
	if (at(reader, "\xEF\xBB\xBF"))
		reader->p += 3;
	while (*reader->p != '\0')
	{
		if (*reader->p != '<')
		{
			read_text(reader);
			continue;
		}
		CHECK_FOR_INTERRUPTS();
		if (at(reader, "<!--"))
			skip_past(reader, "-->", "a comment does not end");
		else if (at(reader, "<![CDATA["))
			read_cdata(reader);
		else if (at(reader, "<?"))
			skip_past(reader, "?>", "a processing instruction does not end");
		else if (at(reader, "<!"))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("configuration files of Hadoop must not have declarations"),
					 errdetail("A document type declaration can define entities, which are never resolved."),
					 errhint("Remove <!DOCTYPE ...> and write out the text that it stands for.")));
		else if (at(reader, "</"))
			read_end_tag(reader);
		else
			read_start_tag(reader);
	}
	if (reader->depth > 0)
		malformed(reader, "the document ends within an element");
	if (!reader->had_root)
		malformed(reader, "the document is empty");
}

void
yq_hadoop_xml_read(const char *text, YqHadoopPropertyReader put, void *argument)
{
	XmlReader	reader = {.text = text, .p = text, .put = put, .argument = argument};

	initStringInfo(&reader.token);
	initStringInfo(&reader.name);
	initStringInfo(&reader.value);
	read_document(&reader);
}

/* -- for SQL --------------------------------------------------------------- */

/* The rows that hadoop_xml_properties() returns. */
typedef struct PropertyRows
{
	ReturnSetInfo *rows;
	int32		ordinal;
} PropertyRows;

static Datum
text_of(const char *data, int length)
{
	return data == NULL ? (Datum) 0 : PointerGetDatum(cstring_to_text_with_len(data, length));
}

static void
put_property_row(const YqHadoopProperty *property, void *argument)
{
	PropertyRows *result = argument;
	Datum		values[4];
	bool		nulls[4] = {false, property->name == NULL, property->value == NULL, false};

	values[0] = Int32GetDatum(++result->ordinal);
	values[1] = text_of(property->name, property->name_length);
	values[2] = text_of(property->value, property->value_length);
	values[3] = BoolGetDatum(property->final);
	tuplestore_putvalues(result->rows->setResult, result->rows->setDesc, values, nulls);
	for (int i = 1; i <= 2; i++)
	{
		if (!nulls[i])
			pfree(DatumGetPointer(values[i]));
	}
}

PG_FUNCTION_INFO_V1(yq_sql_hadoop_xml_properties);

/* hadoop_xml_properties(document text): return a row (ordinal, property, value, final) for each property. */
Datum
yq_sql_hadoop_xml_properties(PG_FUNCTION_ARGS)
{
	PropertyRows result = {.rows = (ReturnSetInfo *) fcinfo->resultinfo};

	InitMaterializedSRF(fcinfo, 0);
	yq_hadoop_xml_read(text_to_cstring(PG_GETARG_TEXT_PP(0)), put_property_row, &result);
	return (Datum) 0;
}
