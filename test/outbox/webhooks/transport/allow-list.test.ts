import { describe, expect, test } from 'vitest'
import { InvalidOptionError } from 'yaoki'
import { readAllowList } from '../../../../src/outbox/webhooks/transport/allow-list.ts'

const errorOf = (run: () => unknown): InvalidOptionError => {
	try {
		run()
	} catch (error) {
		if (error instanceof InvalidOptionError) return error
		throw error
	}
	throw new Error('nothing was thrown')
}

describe('hosts', () => {
	const { hasHost } = readAllowList([
		'billing.corp',
		'*.Example.COM',
		'localhost',
		'*.internal',
		'BÜRO.example.',
	])

	test.each([
		'billing.corp',
		'a.example.com',
		'a.b.example.com',
		'localhost',
		'x.internal',
		'xn--bro-hoa.example',
	])('permits %s', (host) => {
		expect(hasHost(host)).toBe(true)
	})

	test.each([
		'a.billing.corp',
		'example.com',
		'badexample.com',
		'example.com.evil.test',
		'internal',
		'a.localhost',
		'',
	])('does not permit %s', (host) => {
		expect(hasHost(host)).toBe(false)
	})
})

describe('an invalid entry', () => {
	test.each([
		'',
		'*',
		'*.',
		'*.com',
		'a.*.com',
		'**.example.com',
		'.example.com',
		'a..example.com',
		'https://example.com',
		'example.com/path',
		'example.com:443',
		'user@example.com',
		'exa mple.com',
		'exam\tple.com',
		'10.0.0.5/8',
		'10.0.0.0/33',
		'10.0.0',
		'0x7f.1',
		'2130706433',
		'[::1]',
		'fe80::1%eth0',
		'0.0.0.0/0',
		'::/0',
		7,
		null,
		{},
	])('%s is rejected with its index', (entry) => {
		const error = errorOf(() => readAllowList(['10.0.0.0/8', entry]))
		expect(error).toMatchObject({ optionPath: 'allow[1]', received: entry })
	})

	test.each(['10.0.0.0/8', {}, null, 7])('a list that is %s is rejected', (allow) => {
		expect(errorOf(() => readAllowList(allow))).toMatchObject({ optionPath: 'allow', received: allow })
	})
})
