/*-------------------------------------------------------------------------
 *
 * packed_entries.c
 *	  Many entries of a few columns in one value.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/packed_entries.h"
#include "port/pg_bswap.h"

/* Bytes of the longest length, of 32 bits. */
#define MAX_LENGTH_BYTES 5

/* -- writing --------------------------------------------------------------- */

void
yq_entries_begin(YqEntryWriter *writer)
{
	memset(writer, 0, sizeof(YqEntryWriter));
	initStringInfo(&writer->packed);
	writer->packed.len = VARHDRSZ;
}

static char *
write_length(char *to, uint32 length)
{
	for (; length >= 0x80; length >>= 7)
		*to++ = (char) (length | 0x80);
	*to++ = (char) length;
	return to;
}

/* Whether the column is as in the last entry. */
static inline bool
is_same(const YqEntryWriter *writer, int column, YqBytes bytes)
{
	int			at = writer->columns[column].at;

	if (bytes.data == NULL || at == 0)
		return bytes.data == NULL && at == 0;
	return (Size) writer->columns[column].length == bytes.length &&
		memcmp(writer->packed.data + at, bytes.data, bytes.length) == 0;
}

void
yq_entries_append(YqEntryWriter *writer, const YqBytes *columns, int count)
{
	int			changed_at = writer->packed.len;
	uint8		changed = 0;

	appendStringInfoChar(&writer->packed, 0);
	for (int i = 0; i < count; i++)
	{
		YqBytes		bytes = columns[i];
		char	   *to;

		if (is_same(writer, i, bytes))
			continue;
		changed |= 1 << i;
		enlargeStringInfo(&writer->packed, MAX_LENGTH_BYTES + (int) bytes.length);
		to = write_length(writer->packed.data + writer->packed.len, bytes.data == NULL ? 0 : (uint32) bytes.length + 1);
		writer->columns[i].at = bytes.data == NULL ? 0 : to - writer->packed.data;
		writer->columns[i].length = (int) bytes.length;
		if (bytes.data != NULL)
			memcpy(to, bytes.data, bytes.length);
		writer->packed.len = to - writer->packed.data + (bytes.data == NULL ? 0 : (int) bytes.length);
	}
	writer->packed.data[changed_at] = (char) changed;
	writer->entries++;
}

bytea *
yq_entries_end(YqEntryWriter *writer)
{
	bytea	   *packed = (bytea *) writer->packed.data;

	SET_VARSIZE(packed, writer->packed.len);
	writer->packed.len = VARHDRSZ;
	writer->entries = 0;
	memset(writer->columns, 0, sizeof(writer->columns));
	return packed;
}

YqBytes
yq_entry_number(uint8 *buffer, const uint64 *limbs, int count)
{
	uint8	   *digits = buffer + 1;
	uint8		sign = (int64) limbs[count - 1] < 0 ? 0xFF : 0;
	int			skipped = 0;
	int			zeros = 0;
	int			length = 0;

	/* of limbs that only repeat the sign the lowest one is enough */
	while (count > 1 && limbs[count - 1] == (uint64) (int8) sign)
		count--;
	while (skipped < count - 1 && limbs[skipped] == 0)
		skipped++;
	for (int i = skipped; i < count; i++, length += sizeof(uint64))
	{
		uint64		lowest_first = pg_bswap64(pg_hton64(limbs[i]));

		memcpy(digits + length, &lowest_first, sizeof(uint64));
	}
	digits[length++] = sign;
	while (length > 1 && digits[length - 1] == sign && (digits[length - 2] & 0x80) == (sign & 0x80))
		length--;
	while (zeros < length - 1 && digits[zeros] == 0)
		zeros++;
	buffer[zeros] = (uint8) (skipped * sizeof(uint64) + zeros);
	return (YqBytes) {(char *) buffer + zeros, 1 + length - zeros};
}

/* -- reading ----------------------------------------------------------------- */

void
yq_entries_report_corruption(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("packed entries are corrupted")));
}

void
yq_entries_read(YqEntryReader *reader, const bytea *packed)
{
	memset(reader, 0, sizeof(YqEntryReader));
	reader->next = (const uint8 *) VARDATA_ANY(packed);
	reader->end = reader->next + VARSIZE_ANY_EXHDR(packed);
}

static uint32
read_length(YqEntryReader *reader)
{
	uint64		length = 0;

	for (int i = 0; i < MAX_LENGTH_BYTES && reader->next < reader->end; i++)
	{
		uint8		byte = *reader->next++;

		length |= (uint64) (byte & 0x7F) << (7 * i);
		if ((byte & 0x80) == 0 && length <= (uint64) (reader->end - reader->next) + 1)
			return (uint32) length;
	}
	yq_entries_report_corruption();
	return 0;
}

bool
yq_entries_next(YqEntryReader *reader)
{
	uint8		changed;

	if (reader->next == reader->end)
		return false;
	changed = *reader->next++;
	for (int i = 0; changed != 0; changed >>= 1, i++)
	{
		uint32		length;

		if ((changed & 1) == 0)
			continue;
		length = read_length(reader);
		reader->columns[i].data = length == 0 ? NULL : (const char *) reader->next;
		reader->columns[i].length = length == 0 ? 0 : length - 1;
		reader->next += reader->columns[i].length;
	}
	return true;
}

void
yq_entry_read_number(YqBytes bytes, uint64 *limbs, int count)
{
	const uint8 *digits = (const uint8 *) bytes.data + 1;
	Size		zeros = bytes.length < 2 ? 0 : (uint8) bytes.data[0];
	Size		length = bytes.length < 2 ? 0 : bytes.length - 1;

	if (length == 0 || zeros + length > (Size) count * sizeof(uint64))
		yq_entries_report_corruption();
	memset(limbs, (digits[length - 1] & 0x80) != 0 ? 0xFF : 0, count * sizeof(uint64));
	for (Size i = 0; i < zeros + length; i++)
	{
		int			shift = 8 * (i % sizeof(uint64));

		limbs[i / sizeof(uint64)] &= ~((uint64) 0xFF << shift);
		limbs[i / sizeof(uint64)] |= (uint64) (i < zeros ? 0 : digits[i - zeros]) << shift;
	}
}

struct varlena *
yq_entry_varlena(YqBytes bytes)
{
	struct varlena *value;

	if (bytes.data == NULL)
		return NULL;
	value = palloc(VARHDRSZ + bytes.length);
	SET_VARSIZE(value, VARHDRSZ + bytes.length);
	memcpy(VARDATA(value), bytes.data, bytes.length);
	return value;
}
