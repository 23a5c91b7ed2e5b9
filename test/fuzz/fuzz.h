/*-------------------------------------------------------------------------
 *
 * fuzz.h
 *	  What a fuzz target is (see driver.c).
 *
 * A target gets bytes that the fuzzer made up, gives them to yquota's own
 * functions and checks what comes out.  It may raise an error: those that its
 * list of SQLSTATEs names are the right answer to bad input, any other one is
 * a finding, and so are a broken property and whatever the sanitizers see.
 *
 * corpus/TARGET holds what a target begins with.  Inputs with a name were
 * thought of, or found to be wrong once; those with a number were found by the
 * fuzzer and reach code that no smaller one does.
 *
 * Targets run inside a backend, outside of any snapshot, in a memory context
 * that is emptied after each run; they keep nothing and read no table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_FUZZ_H
#define YQ_FUZZ_H

#include "fmgr.h"

#include "base/resource.h"

/* Bytes not yet used up by a target. */
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

/* The targets, ended by one without a name. */
extern const YqFuzzTarget yq_fuzz_targets[];

/* Report a broken property and end the process: the fuzzer keeps the input. */
pg_noreturn extern void yq_fuzz_fail(const char *file, int line, const char *property);

#define YQ_FUZZ_CHECK(property) \
	do { if (!(property)) yq_fuzz_fail(__FILE__, __LINE__, #property); } while (0)

/* One byte, 0 when there is none left; and up to "most" bytes. */
extern uint8 yq_fuzz_byte(YqFuzzInput *input);
extern int64 yq_fuzz_int64(YqFuzzInput *input);

/*
 * A part of the input: up to the next byte 0xFF, which no text has, or all of
 * it.  Palloc'd with nothing readable behind it.
 */
extern bytea *yq_fuzz_part(YqFuzzInput *input);

/* The same as a string; NULL when the server would not let it in as text. */
extern char *yq_fuzz_string(YqFuzzInput *input);

/* Everything that holds for a good vector: all its forms give it back. */
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
