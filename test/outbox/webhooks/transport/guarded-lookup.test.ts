import { describe, expect, test } from 'vitest'
import { readAllowList } from '../../../../src/outbox/webhooks/transport/allow-list.ts'
import {
	guardedLookup,
	RejectedAddress,
	type WebhookLookup,
} from '../../../../src/outbox/webhooks/transport/guarded-lookup.ts'
import { scriptedLookup } from './setup.ts'

const PUBLIC = '93.184.216.34'
const PUBLIC6 = '2606:2800:220:1:248:1893:25c8:1946'

/** Resolves as a socket does. Returns the arguments of the callback. */
const resolve = (
	lookup: WebhookLookup,
	{ all = true, host = 'hooks.example.com', allow = [] as readonly string[] } = {},
): Promise<readonly unknown[]> =>
	new Promise((done) => {
		guardedLookup(lookup, readAllowList(allow))(host, { all, hints: 0 }, (...result) => done(result))
	})

test('passes the public addresses on, with the family of each', async () => {
	expect(await resolve(scriptedLookup([PUBLIC, PUBLIC6]))).toEqual([
		null,
		[
			{ address: PUBLIC, family: 4 },
			{ address: PUBLIC6, family: 6 },
		],
	])
	expect(await resolve(scriptedLookup([PUBLIC6, PUBLIC]), { all: false })).toEqual([null, PUBLIC6, 6])
})

test('rejects the second result of a resolver that changes it from a public address to 127.0.0.1', async () => {
	const lookup = scriptedLookup([PUBLIC], ['127.0.0.1'])
	expect(await resolve(lookup)).toEqual([null, [{ address: PUBLIC, family: 4 }]])
	expect(await resolve(lookup)).toMatchObject([{ address: '127.0.0.1', range: 'loopback' }, []])
})

test.each([
	[['127.0.0.1'], '127.0.0.1'],
	[[PUBLIC, '127.0.0.1'], '127.0.0.1'],
	[['127.0.0.1', PUBLIC], '127.0.0.1'],
	[[PUBLIC, PUBLIC6, 'fd00:ec2::254'], 'fd00:ec2::254'],
	[['::ffff:127.0.0.1'], '::ffff:127.0.0.1'],
	[['64:ff9b::127.0.0.1'], '64:ff9b::127.0.0.1'],
	[['fe80::1%eth0'], 'fe80::1%eth0'],
	[[PUBLIC, ''], ''],
	[['example.com'], 'example.com'],
] as const)('rejects %o, with and without all', async (addresses, address) => {
	for (const all of [true, false]) {
		const [error] = await resolve(scriptedLookup(addresses), { all })
		expect(error).toBeInstanceOf(RejectedAddress)
		expect(error).toMatchObject({ address })
	}
})

test('an allowed host may resolve to internal addresses, also as an absolute name', async () => {
	const lookup = scriptedLookup(['10.0.0.7', PUBLIC])
	for (const host of ['billing.corp', 'billing.corp.'])
		expect((await resolve(lookup, { host, allow: ['billing.corp'] }))[0]).toBeNull()
	expect((await resolve(lookup, { host: 'a.billing.corp', allow: ['billing.corp'] }))[0]).toBeInstanceOf(
		RejectedAddress,
	)
})

test('what the resolver changes after its callback is not used', async () => {
	const addresses = [{ address: PUBLIC, family: 4 }]
	const [, result] = await resolve((_host, _options, callback) => {
		callback(null, addresses)
		for (const one of addresses) one.address = '127.0.0.1'
		addresses.push({ address: '127.0.0.1', family: 4 })
		callback(null, addresses)
	})
	expect(result).toEqual([{ address: PUBLIC, family: 4 }])
})

test('an address that differs at its second read is not used', async () => {
	let reads = 0
	const shifty = {
		family: 4,
		get address() {
			return reads++ === 0 ? PUBLIC : '127.0.0.1'
		},
	}
	expect(await resolve((_host, _options, callback) => callback(null, [shifty]))).toEqual([
		null,
		[{ address: PUBLIC, family: 4 }],
	])
})

describe('a resolver that fails', () => {
	const broken = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' })

	test.each<readonly [string, WebhookLookup, unknown]>([
		['calls back with an error', (_host, _options, callback) => callback(broken, []), broken],
		[
			'throws',
			() => {
				throw broken
			},
			broken,
		],
		['rejects', async () => Promise.reject(broken), broken],
		[
			'throws a text',
			() => {
				throw 'no'
			},
			expect.objectContaining({ message: 'no' }),
		],
		[
			'finds nothing',
			(_host, _options, callback) => callback(null, []),
			expect.objectContaining({ code: 'ENOTFOUND', hostname: 'hooks.example.com' }),
		],
		[
			'calls back with a text',
			(_host, _options, callback) => callback(null, PUBLIC as never),
			expect.any(TypeError),
		],
		[
			'calls back with texts',
			(_host, _options, callback) => callback(null, [PUBLIC] as never),
			expect.any(TypeError),
		],
	])('and %s fails the connection', async (_, lookup, expected) => {
		expect(await resolve(lookup)).toEqual([expected, []])
	})
})
