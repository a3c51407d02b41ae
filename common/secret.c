#include "secret.h"

#include "glob.h"

/*
 * librdkafka marks its own as sensitive (rdkafka_conf.c, _RK_SENSITIVE): sasl.password,
 * ssl.key.password, ssl.key.pem, ssl.keystore.password, sasl.oauthbearer.client.secret. The
 * registry's basic.auth.user.info is "user:password". An OAuth configuration may be anything.
 */
static const struct slice names[] = {
	SLICE_INIT("*password*"),
	SLICE_INIT("*passphrase*"),
	SLICE_INIT("*secret*"),
	SLICE_INIT("*token"),
	SLICE_INIT("*credential*"),
	SLICE_INIT("*user.info*"),
	SLICE_INIT("*key.pem"),
	SLICE_INIT("*jaas.config"),
	SLICE_INIT("*oauthbearer.config"),
};

bool secret_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (glob_match(names[i], slice_str(name)))
			return true;
	return false;
}

const char *secret_mask_urls(struct arena *a, const char *text)
{
	CLEANUP(buf_free) struct buf out = {0};
	const char *p = text, *scheme;

	while ((scheme = strstr(p, "://"))) {
		const char *user = scheme + 3, *end = user + strcspn(user, "/?# ,\t");
		const char *at = memrchr(user, '@', (size_t)(end - user));
		const char *colon = at ? memchr(user, ':', (size_t)(at - user)) : NULL;

		if (colon) {
			buf_add(&out, p, (size_t)(colon + 1 - p));
			buf_add_str(&out, SECRET_MASK);
			p = at;
		} else {
			buf_add(&out, p, (size_t)(user - p));
			p = user;
		}
	}
	if (p == text)
		return text;
	buf_add_str(&out, p);
	return arena_cstr(a, slice_of(out.p, out.n));
}
