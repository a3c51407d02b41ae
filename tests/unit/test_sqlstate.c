#include <criterion/criterion.h>

#include "mem.h"
#include "sqlstate.h"

static const struct {
	const char *code;
	enum sql_class class;
} CASES[] = {
	/* the server's trouble */
	{"08000", SQL_OUTAGE}, /* connection exception */
	{"08001", SQL_OUTAGE},
	{"08003", SQL_OUTAGE},
	{"08006", SQL_OUTAGE},
	{"08P01", SQL_OUTAGE}, /* PgBouncer: query_wait_timeout */
	{"25006", SQL_OUTAGE}, /* read-only */
	{"25P03", SQL_OUTAGE}, /* idle in transaction: terminated */
	{"40003", SQL_OUTAGE}, /* statement completion unknown */
	{"53000", SQL_OUTAGE},
	{"53100", SQL_OUTAGE}, /* disk full */
	{"53200", SQL_OUTAGE}, /* out of memory */
	{"53300", SQL_OUTAGE}, /* too many connections */
	{"53400", SQL_OUTAGE},
	{"57P01", SQL_OUTAGE}, /* admin shutdown */
	{"57P02", SQL_OUTAGE}, /* crash shutdown */
	{"57P03", SQL_OUTAGE}, /* cannot connect now */
	{"57P04", SQL_OUTAGE}, /* database dropped */
	{"57P05", SQL_OUTAGE}, /* idle session time-out */
	{"58000", SQL_OUTAGE},
	{"58030", SQL_OUTAGE}, /* I/O error */
	{"58P01", SQL_OUTAGE},
	{"F0000", SQL_OUTAGE},
	{"XX000", SQL_OUTAGE},
	{"XX001", SQL_OUTAGE},
	{"XX002", SQL_OUTAGE},
	/* at once again */
	{"40000", SQL_RETRY},
	{"40001", SQL_RETRY}, /* serialization failure */
	{"40P01", SQL_RETRY}, /* deadlock */
	{"55P03", SQL_RETRY}, /* lock not available */
	/* the contract */
	{"28000", SQL_CONTRACT}, /* no pg_hba entry */
	{"28P01", SQL_CONTRACT}, /* wrong password */
	{"3D000", SQL_CONTRACT}, /* no such database */
	{"3F000", SQL_CONTRACT}, /* no such schema */
	{"42501", SQL_CONTRACT}, /* insufficient privilege */
	{"42601", SQL_CONTRACT},
	{"42703", SQL_CONTRACT}, /* undefined column */
	{"42804", SQL_CONTRACT}, /* datatype mismatch */
	{"42883", SQL_CONTRACT}, /* undefined function */
	{"42P01", SQL_CONTRACT}, /* undefined table */
	{"42P10", SQL_CONTRACT}, /* no unique constraint for ON CONFLICT */
	/* the read */
	{"20000", SQL_RECORD},
	{"21000", SQL_RECORD},
	{"22001", SQL_RECORD},
	{"22003", SQL_RECORD}, /* numeric out of range */
	{"22008", SQL_RECORD}, /* datetime overflow */
	{"22021", SQL_RECORD}, /* bad UTF-8, NUL */
	{"22P02", SQL_RECORD},
	{"22P03", SQL_RECORD},
	{"23502", SQL_RECORD}, /* not null */
	{"23503", SQL_RECORD}, /* foreign key */
	{"23505", SQL_RECORD}, /* another unique constraint */
	{"23514", SQL_RECORD}, /* check; no partition for the row */
	{"23P01", SQL_RECORD},
	{"27000", SQL_RECORD},
	{"38000", SQL_RECORD},
	{"39P01", SQL_RECORD},
	{"44000", SQL_RECORD},
	{"54000", SQL_RECORD}, /* key too long for the index */
	{"54001", SQL_RECORD},
	{"P0000", SQL_RECORD},
	{"P0001", SQL_RECORD}, /* RAISE */
	{"P0004", SQL_RECORD},
	/* not known to be the read's until it is alone */
	{"57014", SQL_SUSPECT}, /* statement time-out */
	{"57000", SQL_SUSPECT},
	{"0A000", SQL_SUSPECT},
	{"01000", SQL_SUSPECT},
	{"25P02", SQL_SUSPECT},
	{"55000", SQL_SUSPECT},
	{"55006", SQL_SUSPECT},
	{"HV000", SQL_SUSPECT},
	{"U0001", SQL_SUSPECT},
	{"5", SQL_SUSPECT},
	{"", SQL_SUSPECT},
	/* and no error */
	{"00000", SQL_OK},
};

Test(sqlstate, every_code_has_the_class_of_its_longest_prefix)
{
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		cr_expect_eq(sqlstate_class(CASES[i].code), CASES[i].class, "%s: %s, not %s",
			CASES[i].code, sql_class_name(sqlstate_class(CASES[i].code)),
			sql_class_name(CASES[i].class));
}

Test(sqlstate, every_class_has_its_own_name)
{
	for (enum sql_class a = SQL_OK; a <= SQL_SUSPECT; a++) {
		for (enum sql_class b = a + 1; b <= SQL_SUSPECT; b++)
			cr_expect_str_neq(sql_class_name(a), sql_class_name(b));
	}
}
