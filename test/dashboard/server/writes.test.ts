/** Actions: what a write needs, how it is read, and that each one is audited. */
import { describe, expect, test, vi } from 'vitest'
import { InvalidArgumentError, YaokiError } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import type { DashboardAction, DashboardOptions } from '../../../src/dashboard/options.ts'
import { fakeDashboard, PAUSE } from './fake-parts.ts'
import { visit, writeOf } from './visit.ts'

const URL = 'https://shop.test/ops/'
const ISOLATE = { action: 'isolate', source: 'payments', circuit: 'c1' } as const

async function open(options: Partial<DashboardOptions> = {}) {
	const { page, parts } = fakeDashboard(options)
	const visited = await visit(URL, (url) => page(new Request(url)))
	const write = async (body: unknown, headers?: Record<string, string>, name = 'action') => {
		const response = await page(new Request(`${URL}_yaoki/api/${name}`, writeOf(visited, body, headers)))
		return [response.status, await response.json()] as const
	}
	return { page, parts, visited, write }
}

describe('a write is rejected', () => {
	const OTHER = 'ab'.repeat(32)
	test.each<[string, Record<string, string>, number, string]>([
		['from another origin', { origin: 'https://evil.example' }, 403, 'cross-origin'],
		['from another port', { origin: 'https://shop.test:8443' }, 403, 'cross-origin'],
		['from HTTP to HTTPS', { origin: 'http://shop.test' }, 403, 'cross-origin'],
		['from an opaque origin', { origin: 'null' }, 403, 'cross-origin'],
		['without an origin', { origin: '' }, 403, 'cross-origin'],
		['from another site', { 'sec-fetch-site': 'cross-site' }, 403, 'cross-origin'],
		['from a neighbor of the same site', { 'sec-fetch-site': 'same-site' }, 403, 'cross-origin'],
		['that the user has typed', { 'sec-fetch-site': 'none' }, 403, 'cross-origin'],
		['without the header of the token', { 'x-yaoki-token': '' }, 403, 'token'],
		['with another token', { 'x-yaoki-token': OTHER }, 403, 'token'],
		['with a part of the token', { 'x-yaoki-token': 'ab' }, 403, 'token'],
		['without the cookie', { cookie: 'a=b' }, 403, 'token'],
		['with another cookie', { cookie: `yaoki_token=${OTHER}` }, 403, 'token'],
		['with empty tokens in both', { cookie: 'yaoki_token=', 'x-yaoki-token': '' }, 403, 'token'],
		['with a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'content-type'],
		['with text', { 'content-type': 'text/plain' }, 415, 'content-type'],
		['without a type', { 'content-type': '' }, 415, 'content-type'],
	])('%s', async (_, headers, status, code) => {
		const onAction = vi.fn()
		const { parts, write } = await open({ onAction })
		for (const name of ['action', 'plan'])
			expect(await write(PAUSE, headers, name)).toMatchObject([status, { code }])
		expect([parts.ran, parts.asked, onAction.mock.calls]).toEqual([[], [], []])
	})
})

test.each<[string, Record<string, string>]>([
	['with its own origin', {}],
	[
		'behind a proxy that changes the host, if the browser says same-origin',
		{ 'sec-fetch-site': 'same-origin', origin: 'https://a.test' },
	],
	['with a charset', { 'content-type': 'application/json; charset=utf-8' }],
])('accepts a write %s', async (_, headers) => {
	const { parts, write } = await open()
	expect(await write(PAUSE, headers)).toMatchObject([200, { changed: 1 }])
	expect(parts.ran).toEqual([{ action: PAUSE, by: 'dashboard' }])
})

test('accepts a write behind a proxy that ends TLS', async () => {
	const { page, parts } = fakeDashboard()
	const url = 'http://shop.test/'
	const visited = await visit(url, (one) => page(new Request(one)))
	const write = (origin: string) =>
		page(new Request(`${url}_yaoki/api/action`, writeOf(visited, PAUSE, { origin })))
	expect((await write('https://shop.test')).status).toBe(200)
	expect((await write('https://other.test')).status).toBe(403)
	expect(parts.ran).toHaveLength(1)
})

describe('the token', () => {
	test('is in a cookie that scripts and other sites cannot use', async () => {
		const { page } = fakeDashboard()
		const response = await page(new Request(URL))
		expect(response.headers.get('set-cookie')).toMatch(
			/^yaoki_token=[0-9a-f]{64}; HttpOnly; SameSite=Strict; Secure$/,
		)
		expect(response.headers.get('cache-control')).toBe('no-store')
		const plain = await page(new Request('http://127.0.0.1/ops/'))
		expect(plain.headers.get('set-cookie')).not.toContain('Secure')
	})

	test('is random, and stays the same for another tab', async () => {
		const { page } = fakeDashboard()
		const one = await visit(URL, (url) => page(new Request(url)))
		const other = await visit(URL, (url) => page(new Request(url)))
		expect(one.cookie).toBe(`yaoki_token=${one.token}`)
		expect(other.token).not.toBe(one.token)
		const tab = await visit(URL, (url) =>
			page(new Request(url, { headers: { cookie: `a=b; ${one.cookie}` } })),
		)
		expect([tab.token, tab.cookie]).toEqual([one.token, one.cookie])
	})

	test('is a new one if the cookie is not one of a dashboard', async () => {
		const { page } = fakeDashboard()
		const cookie = 'yaoki_token="><script>alert(1)</script>'
		const visited = await visit(URL, (url) => page(new Request(url, { headers: { cookie } })))
		expect(visited.token).toMatch(/^[0-9a-f]{64}$/)
		expect(visited.html).not.toContain('alert')
	})
})

describe('the body of a write', () => {
	test.each<[string, unknown]>([
		['no JSON', '{'],
		['empty', ''],
		['a list', []],
		['null', null],
		['a text', '"pause"'],
		['an action of a circuit without a source', { ...ISOLATE, source: undefined }],
		['an action of a circuit without a circuit', { ...ISOLATE, circuit: undefined }],
		['an action of a circuit with an empty circuit', { ...ISOLATE, circuit: ' ' }],
		['an action of a circuit with a circuit that is a number', { ...ISOLATE, circuit: 5 }],
		['an action of a circuit with a reason that is an object', { ...ISOLATE, reason: {} }],
		['an action of a circuit with a field that it does not have', { ...ISOLATE, destination: 'bank' }],
	])('is rejected if it is %s', async (_, body) => {
		const { parts, write } = await open()
		expect(await write(body)).toMatchObject([400, { code: 'invalid' }])
		expect(parts.ran).toEqual([])
	})

	test.each<[object]>([
		[{ action: 'retry', source: 'orders', selection: { ids: ['m1', 'm2'] } }],
		[
			{
				action: 'replay',
				source: 'orders',
				selection: { fingerprint: 'f', from: 0 },
				canary: true,
				perSecond: 5,
			},
		],
		[{ action: 'discard', source: 'orders', selection: { cause: 'expired' }, reason: 'test data' }],
		[{ action: 'isolate', source: 'payments', circuit: 'c1', reason: 'maintenance' }],
		[{ action: 'resend-endpoint', source: 'hooks', id: 'e1', since: 5 }],
		[{ action: 'cancel-job', source: 'orders', id: 'j1' }],
	])('is passed on as it is: %j', async (action) => {
		const { parts, write } = await open()
		expect(await write(action)).toMatchObject([200, { changed: 1 }])
		expect(parts.ran).toEqual([{ action, by: 'dashboard' }])
	})

	test('may have 64 kB', async () => {
		const { parts, write } = await open()
		expect(await write({ ...PAUSE, reason: 'x'.repeat(63_000) })).toMatchObject([200, {}])
		expect(await write({ ...PAUSE, reason: 'x'.repeat(64_000) })).toMatchObject([413, { code: 'too-large' }])
		expect(parts.ran).toHaveLength(1)
	})
})

test('a plan changes nothing, and an action of a circuit has none', async () => {
	const onAction = vi.fn()
	const { parts, write } = await open({ onAction })
	const replay = { action: 'replay', source: 'orders', selection: { all: true } }
	expect(await write(replay, {}, 'plan')).toMatchObject([200, { matching: { count: 3 } }])
	expect(await write({ action: 'reset', source: 'payments', circuit: 'c1' }, {}, 'plan')).toMatchObject([
		400,
		{},
	])
	expect([parts.ran, onAction.mock.calls]).toEqual([[], []])
})

describe('every action is audited', () => {
	test('with the actor and the time', async () => {
		const records: DashboardAction[] = []
		const { parts, write } = await open({
			actor: async (request) => `user of ${request.headers.get('x-team')}`,
			onAction: (record) => void records.push(record),
		})
		await write(PAUSE, { 'x-team': 'ops' })
		await write(ISOLATE, { 'x-team': 'shop' })
		expect(parts.ran).toEqual([
			{ action: PAUSE, by: 'user of ops' },
			{ action: ISOLATE, by: 'user of shop' },
		])
		expect(records).toEqual([
			{ at: expect.any(Number), by: 'user of ops', action: PAUSE },
			{ at: expect.any(Number), by: 'user of shop', action: ISOLATE },
		])
	})

	test('also if it fails, without the secrets of its error', async () => {
		const warn = vi.spyOn(console, 'warn').mockReturnValue()
		const records: DashboardAction[] = []
		const { parts, write } = await open({ onAction: (record) => void records.push(record) })
		parts.before = () => {
			throw new Error('connect failed: password=hunter2')
		}
		for (const action of [PAUSE, ISOLATE]) {
			const [status, body] = await write(action)
			expect([status, body.code]).toEqual([500, 'failed'])
			expect(JSON.stringify(body)).not.toMatch(/hunter2|connect/)
		}
		expect(records.map(({ error }) => error)).toEqual([
			'connect failed: password=***',
			'connect failed: password=***',
		])
		expect(warn).toHaveBeenCalledTimes(1)
	})

	test('but not if no half knows it', async () => {
		const onAction = vi.fn()
		const { parts, write } = await open({ onAction })
		parts.before = () => {
			throw new InvalidArgumentError('action', 'drop', 'an action')
		}
		expect(await write({ action: 'drop' })).toMatchObject([400, { code: 'invalid' }])
		expect(onAction).not.toHaveBeenCalled()
	})

	test('and an onAction that throws does not fail it', async () => {
		const warn = vi.spyOn(console, 'warn').mockReturnValue()
		const { write } = await open({
			onAction: () => {
				throw new Error('disk full')
			},
		})
		expect(await write(PAUSE)).toMatchObject([200, { changed: 1 }])
		expect(warn).toHaveBeenCalledTimes(1)
	})

	test('and without an actor it is not done', async () => {
		vi.spyOn(console, 'warn').mockReturnValue()
		for (const actor of [() => '', () => undefined as never, () => Promise.reject(new Error('no user'))]) {
			const { parts, write } = await open({ actor })
			expect(await write(PAUSE)).toMatchObject([500, { code: 'failed' }])
			expect(parts.ran).toEqual([])
		}
	})
})

test('an action whose actor does not settle within 10 s is not done, also if it settles later', async () => {
	vi.spyOn(console, 'warn').mockReturnValue()
	const runtime = virtualRuntime()
	const named = Promise.withResolvers<string>()
	const onAction = vi.fn()
	const { parts, write } = await open({ runtime, onAction, actor: () => named.promise })
	const writing = write(PAUSE)
	await runtime.advance(10_000)
	expect(await writing).toMatchObject([
		503,
		{ code: 'timeout', message: expect.stringMatching(/actor .* nothing was done/) },
	])
	named.resolve('ada')
	await runtime.runUntilIdle()
	expect([parts.ran, onAction.mock.calls, runtime.pendingTimers]).toEqual([[], [], 0])
})

describe('an error of a half', () => {
	test.each<[string, Error, number, string, RegExp]>([
		[
			'names a wrong parameter',
			new InvalidArgumentError('before', 'x', 'a number'),
			400,
			'invalid',
			/"before"/,
		],
		[
			'says what is not possible',
			new YaokiError('YAOKI_MESSAGE_NOT_SENT', 'm1 is not sent; token=abc'),
			409,
			'failed',
			/m1 is not sent; token=\*\*\*/,
		],
	])('that %s is for the client', async (_, error, status, code, message) => {
		const { parts, write } = await open()
		parts.before = () => {
			throw error
		}
		const [actual, body] = await write(PAUSE)
		expect([actual, body.code]).toEqual([status, code])
		expect(body.message).toMatch(message)
	})

	test('that quotes a database is not, and is reported once', async () => {
		const warn = vi.spyOn(console, 'warn').mockReturnValue()
		const { page, parts } = await open()
		parts.before = () => {
			throw new YaokiError('YAOKI_OUTBOX_STORE', 'column "ssn" of db.internal')
		}
		for (const name of ['messages', 'dead', 'messages']) {
			const response = await page(new Request(`${URL}_yaoki/api/${name}`))
			const text = await response.text()
			expect(response.status).toBe(500)
			expect(text).not.toMatch(/ssn|internal/)
		}
		expect(warn).toHaveBeenCalledTimes(1)
	})
})
