/* The tests share a server, and one of them crashes it: one at a time. */
#include <criterion/criterion.h>
#include <criterion/options.h>

int main(int argc, char **argv)
{
	struct criterion_test_set *tests = criterion_initialize();
	int result = 0;

	criterion_options.jobs = 1;
	if (criterion_handle_args(argc, argv, true))
		result = !criterion_run_all_tests(tests);
	criterion_finalize(tests);
	return result;
}
