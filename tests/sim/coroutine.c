#include "coroutine.h"

#include "mem.h"
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK_BYTES ((size_t)1024 * 1024)
#define GUARD_BYTES ((size_t)4096)

struct coroutine {
	uint8_t *stack; /* GUARD_BYTES without access, then STACK_BYTES */
	ucontext_t inside, outside;
	void (*fn)(void *);
	void *arg;
	bool running;
	/* What AddressSanitizer must be told of a switch (its header
	 * sanitizer/common_interface_defs.h). */
	void *inside_fake, *outside_fake;
	const void *outside_bottom;
	size_t outside_bytes;
};

struct coroutine *coroutine_new(void)
{
	struct coroutine *c = mem_zalloc(sizeof(*c));

	c->stack = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	if (c->stack == MAP_FAILED || mprotect(c->stack, GUARD_BYTES, PROT_NONE) != 0)
		abort();
	return c;
}

void coroutine_free(struct coroutine *c)
{
	if (!c)
		return;
	munmap(c->stack, GUARD_BYTES + STACK_BYTES);
	free(c);
}

static void entered_inside(struct coroutine *c)
{
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(c->inside_fake, &c->outside_bottom, &c->outside_bytes);
#else
	(void)c;
#endif
}

static void leaving_inside(struct coroutine *c, bool for_good)
{
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(
		for_good ? NULL : &c->inside_fake, c->outside_bottom, c->outside_bytes);
#else
	(void)c;
	(void)for_good;
#endif
}

static void main_of(unsigned high, unsigned low)
{
	struct coroutine *c = (void *)(uintptr_t)((uint64_t)high << 32 | low);

	entered_inside(c);
	c->fn(c->arg);
	c->running = false;
	leaving_inside(c, true);
	setcontext(&c->outside);
}

void coroutine_start(struct coroutine *c, void (*fn)(void *), void *arg)
{
	uint64_t self = (uint64_t)(uintptr_t)c;

	c->fn = fn;
	c->arg = arg;
	c->running = true;
	c->inside_fake = NULL;
	getcontext(&c->inside);
	c->inside.uc_stack.ss_sp = c->stack + GUARD_BYTES;
	c->inside.uc_stack.ss_size = STACK_BYTES;
	c->inside.uc_link = NULL;
	/* makecontext passes ints only, so a pointer goes as two (makecontext(3), NOTES). */
	makecontext(&c->inside, (void (*)(void))(void *)main_of, 2, (unsigned)(self >> 32),
		(unsigned)self);
}

void coroutine_resume(struct coroutine *c)
{
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(&c->outside_fake, c->stack + GUARD_BYTES, STACK_BYTES);
#endif
	swapcontext(&c->outside, &c->inside);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(c->outside_fake, NULL, NULL);
#endif
}

void coroutine_yield(struct coroutine *c)
{
	leaving_inside(c, false);
	swapcontext(&c->inside, &c->outside);
	entered_inside(c);
}

bool coroutine_running(const struct coroutine *c)
{
	return c->running;
}
