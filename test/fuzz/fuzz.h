/*-------------------------------------------------------------------------
 *
 * fuzz.h
 *	  The interface of fuzz targets (see driver.c).
 *
 * A target gets bytes that the fuzzer made up, gives them to yquota's own
 * functions and checks the results.  It may raise an error.  The SQLSTATEs in
 * its list are the right answer to bad input; any other error is a finding.
 * A broken property and every report of the sanitizers are findings, too.
 *
 * corpus/TARGET has the inputs that a target begins with.  An input with a
 * name was written by hand, or once led to a wrong result.  An input with a
 * number was found by the fuzzer, and reaches code that no smaller input reaches.
 *
 * Targets run inside a backend, without a snapshot, in a memory context that
 * is emptied after each run.  They keep nothing and read no table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_FUZZ_H
#define YQ_FUZZ_H

#include "fmgr.h"

#include "base/resource.h"

/* The bytes that a target has not used yet. */
typedef struct YqFuzzInput
{
	const uint8 *next;
	size_t		left;
} YqFuzzInput;

typedef void (*YqFuzzRun) (YqFuzzInput *input);

typedef struct YqFuzzTarget
{
	const char *name;
	YqFuzzRun	run;
	int			errors[6];		/* expected SQLSTATEs, ended by 0 */
} YqFuzzTarget;

/* The targets; the last entry has no name. */
extern const YqFuzzTarget yq_fuzz_targets[];

/* Report a broken property and end the process; the fuzzer keeps the input. */
pg_noreturn extern void yq_fuzz_fail(const char *file, int line, const char *property);

#define YQ_FUZZ_CHECK(property) \
	do { if (!(property)) yq_fuzz_fail(__FILE__, __LINE__, #property); } while (0)

/* Return one byte, or 0 when none is left. */
extern uint8 yq_fuzz_byte(YqFuzzInput *input);

/* Return an integer of 8 bytes, the highest byte first. */
extern int64 yq_fuzz_int64(YqFuzzInput *input);

/*
 * Return a part of the input: up to the next byte 0xFF, which no text has, or the rest. It is
 * palloc'd, with nothing readable after it.
 */
extern bytea *yq_fuzz_part(YqFuzzInput *input);

/* Return a part as a string, or NULL if the server would not accept it as text. */
extern char *yq_fuzz_string(YqFuzzInput *input);

/* Check everything that holds for a valid vector: each form of it can be read back. */
extern void yq_fuzz_check_vector(YqResource *vector);

/* The targets' functions. */
extern void yq_fuzz_resource_text(YqFuzzInput *input);
extern void yq_fuzz_resource_binary(YqFuzzInput *input);
extern void yq_fuzz_resource_json(YqFuzzInput *input);
extern void yq_fuzz_resource_stored(YqFuzzInput *input);
extern void yq_fuzz_resource_pair(YqFuzzInput *input);
extern void yq_fuzz_packed_weights(YqFuzzInput *input);
extern void yq_fuzz_amount(YqFuzzInput *input);
extern void yq_fuzz_price(YqFuzzInput *input);
extern void yq_fuzz_payer(YqFuzzInput *input);
extern void yq_fuzz_setting(YqFuzzInput *input);
extern void yq_fuzz_hadoop_xml(YqFuzzInput *input);
extern void yq_fuzz_capacity(YqFuzzInput *input);
extern void yq_fuzz_acl(YqFuzzInput *input);
extern void yq_fuzz_priority_acl(YqFuzzInput *input);

#endif							/* YQ_FUZZ_H */
