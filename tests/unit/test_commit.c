#include <criterion/criterion.h>
#include <stdio.h>

#include "commit.h"

#define READS_MAX 6000

/*
 * A fake server. What a read does, by letter:
 *   g good   d duplicate   x conflict
 *   r record error (23514)          u unknown error (U0001)         o disk full (53100)
 *   l deadlock, always (40P01)      c contract error (42P01)
 *   t statement time-out (57014)    k kills its backend (57P01): both end the isolated call too
 *   K crashes the server, which then answers to some probes that it is in recovery
 * What became of it: C, D, X, F, O (outage), - (nothing).
 */
struct server {
	const char *reads;
	size_t n;
	bool row[READS_MAX];
	unsigned times_inserted[READS_MAX];
	unsigned calls;
	unsigned down_from; /* number of the first call that finds no server; 0: never */
	unsigned calls_while_down;
	unsigned lost_reply; /* number of the call whose reply is lost; 0: none */
	unsigned transient;  /* number of the call that meets a deadlock; 0: none */
	unsigned left_from;  /* number of the first isolated call that leaves reads untried; 0: none
			      */
	size_t at_once;	     /* and how many it takes */
	unsigned recovery;   /* probes until the server is back after a crash */
	unsigned recovering; /* of those, to go */
	const char *probe_code; /* NULL: probes succeed */
	char log[4096];
	size_t log_n;
};

static struct sink_result error(const char *code, bool backend_lost)
{
	struct sink_result r = {
		.class = code[0] ? sqlstate_class(code) : SQL_OUTAGE, .backend_lost = backend_lost};

	snprintf(r.code, sizeof(r.code), "%s", code);
	snprintf(r.message, sizeof(r.message), "error %s", code);
	return r;
}

static const char *code_of(char read)
{
	switch (read) {
	case 'r':
		return "23514";
	case 'u':
		return "U0001";
	case 'o':
		return "53100";
	case 'l':
		return "40P01";
	case 'c':
		return "42P01";
	case 't':
		return "57014";
	case 'k':
		return "57P01";
	case 'K':
		return "57P02";
	default:
		return NULL;
	}
}

static void insert(struct server *s, size_t i, struct outcome *o)
{
	if (s->reads[i] == 'x') {
		*o = (struct outcome){.kind = OUTCOME_CONFLICT, .committed = SLICE_LIT("{}")};
	} else if (s->reads[i] == 'd' || s->row[i]) {
		*o = (struct outcome){.kind = OUTCOME_DUPLICATE};
	} else {
		*o = (struct outcome){.kind = OUTCOME_COMMITTED};
		s->row[i] = true;
		s->times_inserted[i]++;
	}
}

static void fail(struct outcome *o, const char *code)
{
	*o = (struct outcome){
		.kind = OUTCOME_FAILED, .message = SLICE_LIT("failed in the function")};
	snprintf(o->code, sizeof(o->code), "%s", code);
}

/* SQL_OK, or the error of the first read that ends the call. */
static struct sink_result execute(struct server *s, struct sink_call call, struct outcome *outcomes)
{
	for (size_t i = call.from; i < call.from + call.n; i++) {
		const char *code = code_of(s->reads[i]);

		if (code && (call.kind == SINK_COMMIT || strchr("tkK", s->reads[i]))) {
			s->recovering = s->reads[i] == 'K' ? s->recovery : 0;
			return error(code, strchr("kK", s->reads[i]));
		}
	}
	for (size_t i = call.from; i < call.from + call.n; i++) {
		const char *code = code_of(s->reads[i]);

		if (call.kind == SINK_ISOLATE && s->left_from && s->calls >= s->left_from &&
			i - call.from >= s->at_once)
			outcomes[i] = (struct outcome){.kind = OUTCOME_INVALID};
		else if (code)
			fail(&outcomes[i], code);
		else
			insert(s, i, &outcomes[i]);
	}
	return (struct sink_result){.class = SQL_OK};
}

static void log_call(struct server *s, struct sink_call call)
{
	int n = call.kind == SINK_PROBE
			? snprintf(s->log + s->log_n, sizeof(s->log) - s->log_n, "P ")
			: snprintf(s->log + s->log_n, sizeof(s->log) - s->log_n, "%c%zu:%zu ",
				  call.kind == SINK_COMMIT ? 'C' : 'I', call.from, call.n);

	if (s->log_n + (size_t)n < sizeof(s->log))
		s->log_n += (size_t)n;
}

static struct sink_result serve(struct server *s, struct sink_call call, struct outcome *outcomes)
{
	struct outcome lost[READS_MAX];

	s->calls++;
	log_call(s, call);
	if (s->down_from && s->calls >= s->down_from) {
		s->calls_while_down += call.kind != SINK_PROBE;
		return error("", call.kind != SINK_PROBE);
	}
	if (call.kind == SINK_PROBE && s->recovering) {
		s->recovering--;
		return error("57P03", false);
	}
	if (call.kind == SINK_PROBE)
		return s->probe_code ? error(s->probe_code, false) : (struct sink_result){SQL_OK};
	if (s->calls == s->transient)
		return error("40P01", false);
	if (s->calls == s->lost_reply) {
		execute(s, call, lost);
		return error("", false);
	}
	return execute(s, call, outcomes);
}

/* Runs one batch; the outcomes by letter into text. */
static enum commit_verdict run(struct server *s, char *text)
{
	static const char LETTERS[] = "-CDXFO";
	struct outcome *outcomes = mem_zalloc((s->n + 1) * sizeof(*outcomes));
	struct arena arena = {0};
	struct sink_call call;
	struct commit c;

	commit_init(&c, &arena, outcomes, s->n);
	while (commit_next(&c, &call)) {
		struct sink_result r = serve(s, call, outcomes);

		cr_assert_leq(call.from + call.n, s->n);
		cr_assert(call.kind == SINK_PROBE || call.n > 0);
		cr_assert_leq(s->calls, 10 * s->n + 60, "the number of calls is bounded");
		commit_result(&c, &r);
	}
	for (size_t i = 0; i < s->n; i++) {
		text[i] = LETTERS[outcomes[i].kind];
		cr_assert(
			text[i] != 'F' || (strlen(outcomes[i].code) == 5 && outcomes[i].message.n));
	}
	text[s->n] = '\0';
	commit_free(&c);
	arena_free(&arena);
	free(outcomes);
	return c.verdict;
}

static const struct {
	const char *what, *reads, *outcomes;
	enum commit_verdict verdict;
	const char *calls;
	unsigned down_from, lost_reply, transient, left_from, recovery;
	size_t at_once;
	const char *probe_code;
} CASES[] = {
	{"no reads, no call", "", "", COMMIT_DONE, .calls = ""},
	{"one call commits all", "ggg", "CCC", COMMIT_DONE, .calls = "I0:3 "},
	{"duplicates and conflicts are answers", "gdx", "CDX", COMMIT_DONE, .calls = "I0:3 "},
	{"a bad read is isolated", "grg", "CFC", COMMIT_DONE, .calls = "I0:3 "},
	{"a bad read alone has failed", "r", "F", COMMIT_DONE, .calls = "C0:1 "},
	{"an unknown error is the read's once it is alone", "gug", "CFC", COMMIT_DONE,
		.calls = "I0:3 C1:1 P "},
	{"a time-out is the read's once it is alone", "gtg", "CFC", COMMIT_DONE,
		.calls = "I0:3 P C0:1 C1:1 P C2:1 "},
	{"a deadlock is tried again", "gg", "CC", COMMIT_DONE, .calls = "I0:2 I0:2 ",
		.transient = 1},
	{"a read that always deadlocks has failed", "glg", "CFC", COMMIT_DONE,
		.calls = "I0:3 C1:1 C1:1 C1:1 C1:1 P "},
	{"an outage with a good probe is tried once more", "gg", "DD", COMMIT_DONE,
		.calls = "I0:2 P I0:2 ", .lost_reply = 1},
	{"a read that brings an outage class has failed when alone three times", "gog", "CFC",
		COMMIT_DONE, .calls = "I0:3 C1:1 P C1:1 P C1:1 P "},
	{"likewise in a batch of one", "o", "F", COMMIT_DONE, .calls = "C0:1 P C0:1 P C0:1 P "},
	{"a read that kills its backend has failed when alone once", "gkg", "CFC", COMMIT_DONE,
		.calls = "I0:3 P I0:3 P C0:1 C1:1 P C2:1 "},
	{"likewise in a batch of one", "k", "F", COMMIT_DONE, .calls = "C0:1 P "},
	{"a read that crashes the server has failed when alone three times", "gKg", "CFC",
		COMMIT_DONE, .recovery = 1,
		.calls = "I0:3 P P I0:3 P P C0:1 C1:1 P P C1:1 P P C1:1 P P C2:1 "},
	{"likewise in a batch of one", "K", "F", COMMIT_DONE, .recovery = 2,
		.calls = "C0:1 P P P C0:1 P P P C0:1 P P P "},
	{"a recovery that takes long is an outage", "K", "O", COMMIT_OUTAGE, .recovery = 1000,
		.calls = "C0:1 P P P P P P P P P P P P P P P P P P P P P P P P P P P P P P P P P "
			 "P P P P P P P P "},
	{"no server, no attempt", "gg", "OO", COMMIT_OUTAGE, .calls = "I0:2 P P P ",
		.down_from = 1},
	{"no server for a read alone, no attempt", "k", "O", COMMIT_OUTAGE, .calls = "C0:1 P P P ",
		.down_from = 1},
	{"what is decided stays when the server goes", "grgo", "CFCO", COMMIT_OUTAGE,
		.calls = "I0:4 C3:1 P ", .down_from = 3},
	{"a deadlock that a probe meets too is an outage", "lg", "OC", COMMIT_OUTAGE,
		.calls = "I0:2 C0:1 C0:1 C0:1 C0:1 P ", .probe_code = "55P03"},
	{"a time-out that a probe meets too is an outage", "tg", "OO", COMMIT_OUTAGE,
		.calls = "I0:2 P ", .probe_code = "57014"},
	{"a read alone that breaks the contract while the probe is good has failed", "gcg", "CFC",
		COMMIT_DONE, .calls = "I0:3 C1:1 P C1:1 P C1:1 P "},
	{"a missing contract that the probe finds ends it", "og", "OC", COMMIT_CONTRACT,
		.calls = "I0:2 C0:1 P ", .probe_code = "42883"},
	{"what a call leaves untried is called for again", "gggrg", "CCCFC", COMMIT_DONE,
		.calls = "I0:5 I2:3 C4:1 ", .left_from = 1, .at_once = 2},
	{"calls that try nothing end with one read at a time", "gg", "CC", COMMIT_DONE,
		.calls = "I0:2 I0:2 I0:2 I0:2 C0:1 C1:1 ", .left_from = 1},
	{"reads that deadlock are tried again together, as long as that helps", "llg", "FFC",
		COMMIT_DONE,
		.calls = "I0:3 I0:2 I0:2 I0:2 I0:2 "
			 "C0:1 C0:1 C0:1 C0:1 P C1:1 C1:1 C1:1 C1:1 P "},
	{"one that isolation finds likewise", "grc", "CFF", COMMIT_DONE,
		.calls = "I0:3 C2:1 P C2:1 P C2:1 P "},
};

Test(commit, each_scenario_makes_these_calls_and_gives_these_outcomes)
{
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct server s = {.reads = CASES[i].reads,
			.n = strlen(CASES[i].reads),
			.down_from = CASES[i].down_from,
			.lost_reply = CASES[i].lost_reply,
			.transient = CASES[i].transient,
			.left_from = CASES[i].left_from,
			.recovery = CASES[i].recovery,
			.at_once = CASES[i].at_once,
			.probe_code = CASES[i].probe_code};
		char outcomes[64];
		enum commit_verdict verdict = run(&s, outcomes);

		cr_expect_eq(verdict, CASES[i].verdict, "%s: verdict %d", CASES[i].what, verdict);
		cr_expect_str_eq(outcomes, CASES[i].outcomes, "%s: %s", CASES[i].what, outcomes);
		cr_expect_str_eq(s.log, CASES[i].calls, "%s: %s", CASES[i].what, s.log);
	}
}

/* before reads of that kind, then middle, then after more of them. */
static enum commit_verdict run_row(
	char kind, size_t before, const char *middle, size_t after, char *outcomes)
{
	char reads[128];
	struct server s = {.reads = reads, .n = before + strlen(middle) + after};

	memset(reads, kind, sizeof(reads));
	memcpy(reads + before, middle, strlen(middle));
	return run(&s, outcomes);
}

Test(commit, a_backend_lost_by_a_part_of_a_call_is_asked_after_before_the_rest_is_sent)
{
	CLEANUP(arena_free) struct arena arena = {0};
	struct outcome outcomes[4];
	struct sink_result part = error("57P02", true), recovering = error("57P03", false);
	const struct sink_result ok = {.class = SQL_OK};
	struct sink_call call;
	struct commit c;

	part.class = SQL_OK;
	commit_init(&c, &arena, outcomes, 4);
	cr_assert(commit_next(&c, &call));
	outcomes[0].kind = outcomes[1].kind = OUTCOME_COMMITTED;
	commit_result(&c, &part);
	cr_assert(commit_next(&c, &call));
	cr_assert_eq(call.kind, SINK_PROBE);
	commit_result(&c, &recovering);
	cr_assert(commit_next(&c, &call));
	cr_assert_eq(call.kind, SINK_PROBE, "it comes back");
	commit_result(&c, &ok);
	for (size_t i = 2; i < 4; i++) {
		cr_assert(commit_next(&c, &call));
		cr_assert_eq(call.from, i);
		cr_assert_eq(call.n, 1);
		outcomes[i].kind = OUTCOME_COMMITTED;
		commit_result(&c, &ok);
	}
	cr_assert_not(commit_next(&c, &call));
	cr_assert_eq(c.verdict, COMMIT_DONE);
	commit_free(&c);
}

Test(commit, a_server_whose_crash_shows_only_after_a_good_probe_is_waited_for)
{
	CLEANUP(arena_free) struct arena arena = {0};
	struct outcome outcomes[2];
	const struct sink_result crash = error("57P02", true), refused = error("57P03", false);
	const struct sink_result ok = {.class = SQL_OK};
	const struct sink_result *const results[] = {
		&crash, &ok /* probe */, &refused, &refused /* probe */, &ok /* probe */};
	struct sink_call call;
	struct commit c;

	commit_init(&c, &arena, outcomes, 2);
	for (size_t i = 0; i < ARRAY_LEN(results); i++) {
		cr_assert(commit_next(&c, &call), "result %zu", i);
		cr_assert_eq(call.kind == SINK_PROBE, i == 1 || i >= 3, "result %zu", i);
		commit_result(&c, results[i]);
	}
	while (commit_next(&c, &call)) {
		cr_assert_eq(call.n, 1);
		outcomes[call.from].kind = OUTCOME_COMMITTED;
		commit_result(&c, &ok);
	}
	cr_assert_eq(c.verdict, COMMIT_DONE);
	commit_free(&c);
}

Test(commit, twenty_reads_in_a_row_may_fail_alone_with_an_outage_class)
{
	char outcomes[128];

	cr_expect_eq(run_row('o', 20, "", 0, outcomes), COMMIT_DONE);
	cr_expect_eq(strspn(outcomes, "F"), 20, "%s", outcomes);
	cr_expect_eq(run_row('k', 20, "", 0, outcomes), COMMIT_DONE);
	cr_expect_eq(strspn(outcomes, "F"), 20, "%s", outcomes);
	cr_expect_eq(run_row('c', 20, "", 0, outcomes), COMMIT_DONE);
	cr_expect_eq(strspn(outcomes, "F"), 20, "%s", outcomes);
}

Test(commit, the_twenty_first_makes_it_an_outage_that_burns_no_attempt)
{
	char outcomes[128];

	cr_expect_eq(run_row('o', 21, "", 9, outcomes), COMMIT_OUTAGE);
	cr_expect_eq(strspn(outcomes, "O"), 30, "%s", outcomes);
	cr_expect_eq(run_row('k', 21, "", 9, outcomes), COMMIT_OUTAGE);
	cr_expect_eq(strspn(outcomes, "O"), 30, "%s", outcomes);
	cr_expect_eq(run_row('c', 21, "", 9, outcomes), COMMIT_CONTRACT);
	cr_expect_eq(strspn(outcomes, "O"), 30, "%s", outcomes);
}

Test(commit, reads_charged_before_the_row_stay_charged)
{
	char outcomes[128];

	cr_expect_eq(run_row('k', 2, "rgg", 25, outcomes), COMMIT_OUTAGE);
	cr_expect_eq(strncmp(outcomes, "FFFCCO", 6), 0, "%s", outcomes);
	cr_expect_eq(strspn(outcomes + 5, "O"), 25, "%s", outcomes);
}

Test(commit, a_read_that_commits_in_between_ends_the_row)
{
	char outcomes[128];

	cr_expect_eq(run_row('k', 15, "gg", 15, outcomes), COMMIT_DONE);
	cr_expect_eq(strspn(outcomes, "F"), 15, "%s", outcomes);
	cr_expect_eq(strncmp(outcomes + 15, "CC", 2), 0, "%s", outcomes);
	cr_expect_eq(strspn(outcomes + 17, "F"), 15, "%s", outcomes);
}

Test(commit, time_outs_of_reads_alone_are_no_outage_however_many)
{
	char outcomes[128];

	cr_expect_eq(run_row('t', 50, "", 0, outcomes), COMMIT_DONE);
	cr_expect_eq(strspn(outcomes, "F"), 50, "%s", outcomes);
}

Test(commit, one_bad_read_in_five_thousand_is_found_in_few_calls)
{
	static const struct {
		char kind;
		unsigned calls;
	} BOUNDS[] = {{'r', 1}, {'u', 3}, {'l', 6}, {'o', 7}, {'t', 60}, {'k', 60}};
	char reads[5001], outcomes[5001];

	for (size_t i = 0; i < ARRAY_LEN(BOUNDS); i++) {
		struct server s = {.reads = reads, .n = 5000};

		memset(reads, 'g', 5000);
		reads[3210] = BOUNDS[i].kind;
		cr_expect_eq(run(&s, outcomes), COMMIT_DONE);
		cr_expect_leq(s.calls, BOUNDS[i].calls, "%c: %u calls", BOUNDS[i].kind, s.calls);
		cr_expect_eq(strspn(outcomes, "C"), 3210);
		cr_expect_eq(outcomes[3210], 'F');
		cr_expect_eq(strspn(outcomes + 3211, "C"), 1789);
	}
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Reads by chance, mostly good; at most 20 that bring an outage class. */
static void random_reads(uint64_t *state, char *reads, size_t n)
{
	unsigned outages = 0;
	uint64_t bad_per_1000 = next_random(state) % 2 ? 20 : next_random(state) % 1000;

	for (size_t i = 0; i < n; i++) {
		reads[i] = next_random(state) % 1000 < bad_per_1000
				   ? "rultokdx"[next_random(state) % 8]
				   : 'g';
		if (strchr("ok", reads[i]) && ++outages > COMMIT_ROW_MAX)
			reads[i] = 'r';
	}
	reads[n] = '\0';
}

/* outcome is what it must be for that read once every read has one. */
static bool settled_right(char read, char outcome)
{
	switch (read) {
	case 'g':
		return outcome == 'C' || outcome == 'D';
	case 'd':
		return outcome == 'D';
	case 'x':
		return outcome == 'X';
	default:
		return outcome == 'F';
	}
}

static void check_model(
	const struct server *s, const char *outcomes, enum commit_verdict verdict, uint64_t seed)
{
	cr_assert(verdict == COMMIT_DONE || (verdict == COMMIT_OUTAGE && s->down_from),
		"seed %zu: verdict %d", (size_t)seed, verdict);
	cr_assert_leq(s->calls_while_down, 1, "seed %zu: calls without a server", (size_t)seed);
	for (size_t i = 0; i < s->n; i++) {
		cr_assert_leq(s->times_inserted[i], 1);
		cr_assert(settled_right(s->reads[i], outcomes[i]) ||
				  (verdict == COMMIT_OUTAGE && outcomes[i] == 'O'),
			"seed %zu: read %zu is %c and became %c", (size_t)seed, i, s->reads[i],
			outcomes[i]);
		cr_assert(!strchr("CD", outcomes[i]) || s->row[i] || s->reads[i] == 'd',
			"seed %zu: read %zu has no row", (size_t)seed, i);
	}
}

Test(commit, random_batches_lose_nothing_charge_only_bad_reads_and_stop_when_the_server_is_down)
{
	char reads[READS_MAX + 1], outcomes[READS_MAX + 1];
	unsigned outages = 0;

	for (uint64_t seed = 1; seed <= 20000; seed++) {
		uint64_t state = seed * 0x9E3779B97F4A7C15u;
		struct server s = {.reads = reads, .n = next_random(&state) % 120};
		enum commit_verdict verdict;

		random_reads(&state, reads, s.n);
		if (next_random(&state) % 3 == 0)
			s.down_from = 1 + (unsigned)(next_random(&state) % 30);
		if (next_random(&state) % 3 == 0)
			s.lost_reply = 1 + (unsigned)(next_random(&state) % 10);
		if (next_random(&state) % 3 == 0) {
			s.left_from = 1 + (unsigned)(next_random(&state) % 10);
			s.at_once = next_random(&state) % 20;
		}
		if (next_random(&state) % 3 == 0)
			s.transient = 1 + (unsigned)(next_random(&state) % 10);
		verdict = run(&s, outcomes);
		check_model(&s, outcomes, verdict, seed);
		outages += verdict == COMMIT_OUTAGE;
	}
	cr_expect(outages > 1000 && outages < 19000, "%u outages", outages);
}
