/** Paths, methods, headers, encodings and options. */
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { bulkhead } from 'yaoki'
import { dashboard } from '../../../src/dashboard/index.ts'
import { findPlace } from '../../../src/dashboard/server/paths.ts'
import { acceptsGzip } from '../../../src/dashboard/server/responses.ts'
import { circuitWith, fakeDashboard } from './fake-parts.ts'

const ORIGIN = 'http://shop.test'
const get = (path: string, init?: RequestInit) => new Request(ORIGIN + path, init)

describe('a path', () => {
	const place = (path: string, base?: string) => findPlace({ path, base, keepsSlash: true }, '')

	test.each<[string, string | undefined, object]>([
		['/', undefined, { kind: 'page' }],
		['/ops/', undefined, { kind: 'page' }],
		['/ops/_yaoki', undefined, { kind: 'page' }],
		['/ops', undefined, { kind: 'redirect', location: './ops/' }],
		['/a:b', undefined, { kind: 'redirect', location: './a:b/' }],
		['//evil.example/x', undefined, { kind: 'redirect', location: './x/' }],
		['/ops/_yaoki/app.js', undefined, { kind: 'asset', name: 'app.js' }],
		['/_yaoki/_yaoki/app.js', undefined, { kind: 'asset', name: 'app.js' }],
		['/ops/_yaoki/api/overview', undefined, { kind: 'api', name: 'overview' }],
		['/favicon.ico', undefined, { kind: 'none' }],
		['/ops/', '/ops', { kind: 'page' }],
		['/ops', '/ops', { kind: 'redirect', location: './ops/' }],
		['/ops/x', '/ops', { kind: 'none' }],
		['/ops/x/', '/ops', { kind: 'none' }],
		['/opsx', '/ops', { kind: 'none' }],
		['/x/_yaoki/app.js', '/ops', { kind: 'none' }],
		['/', '', { kind: 'page' }],
		['/_yaoki/app.js', '', { kind: 'asset', name: 'app.js' }],
	])('%s below %s leads to %j', (path, base, expected) => {
		expect(place(path, base)).toEqual(expected)
	})

	test.each([
		'/ops/_yaoki/../app.js',
		'/ops/_yaoki/..',
		'/ops/_yaoki/./app.js',
		'/ops/_yaoki/%2e%2e/',
		'/ops/_yaoki/%2E%2e%2fetc%2fpasswd',
		'/ops/_yaoki/..%5c..%5cpackage.json',
		'/ops/_yaoki\\..\\app.js',
		'/ops/%2e%2e/',
		'/ops/_yaoki%2fapp.js',
	])('%s leads nowhere', (path) => {
		for (const base of [undefined, '/ops', '']) expect(place(path, base)).toEqual({ kind: 'none' })
	})
})

test.each([
	'/_yaoki/',
	'/_yaoki/api/',
	'/_yaoki/api',
	'/_yaoki/index.html',
	'/_yaoki/constructor',
	'/_yaoki/__proto__',
	'/_yaoki/api/constructor',
	'/_yaoki/api/toString',
	'/_yaoki/package.json',
	'/_yaoki/%2e%2e%2fpackage.json',
	'/_yaoki/app.js/',
	'/_yaoki/api/message?outbox=orders&id=gone',
])('%s gives 404', async (path) => {
	const { page } = fakeDashboard()
	const response = await page(get(path))
	expect([response.status, await response.json()]).toMatchObject([404, { code: 'not-found' }])
})

describe('methods', () => {
	test.each([
		['/', 'POST', 'GET, HEAD'],
		['/_yaoki/app.js', 'DELETE', 'GET, HEAD'],
		['/_yaoki/api/overview', 'POST', 'GET, HEAD'],
		['/_yaoki/api/stream', 'OPTIONS', 'GET, HEAD'],
		['/_yaoki/api/action', 'GET', 'POST'],
		['/_yaoki/api/plan', 'HEAD', 'POST'],
	])('%s does not accept %s', async (path, method, allow) => {
		const { page } = fakeDashboard()
		const response = await page(get(path, { method }))
		expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
	})

	test.each(['/', '/_yaoki/app.js', '/_yaoki/api/overview', '/_yaoki/api/calls', '/_yaoki/api/stream'])(
		'HEAD of %s has the headers of GET and no body',
		async (path) => {
			const { page } = fakeDashboard()
			const [head, full] = [await page(get(path, { method: 'HEAD' })), await page(get(path))]
			expect([head.status, await head.text()]).toEqual([200, ''])
			expect(head.headers.get('content-type')).toBe(full.headers.get('content-type'))
			await full.body?.cancel()
		},
	)
})

test.each(['/', '/_yaoki/app.js', '/_yaoki/api/overview', '/nothing.txt', '/ops', '/_yaoki/api/action'])(
	'%s has the security headers',
	async (path) => {
		const { page } = fakeDashboard()
		const { headers } = await page(get(path))
		expect(headers.get('content-security-policy')).toBe(
			"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		)
		expect(headers.get('x-content-type-options')).toBe('nosniff')
		expect(headers.get('referrer-policy')).toBe('no-referrer')
		expect(headers.get('access-control-allow-origin')).toBeNull()
		if (path !== '/_yaoki/app.js') expect(headers.get('cache-control')).toBe('no-store')
	},
)

test('the page has no inline script or style, which its policy would block', async () => {
	const { page } = fakeDashboard()
	const html = await (await page(get('/'))).text()
	expect(html).toMatch(/<script[^>]+src=/)
	expect(html).not.toMatch(/<script(?![^>]+src=)|<style|\sstyle=|\son\w+=/i)
})

test('an asset is not sent again if the browser has it', async () => {
	const { page } = fakeDashboard()
	const first = await page(get('/_yaoki/app.css'))
	const etag = first.headers.get('etag') ?? ''
	expect(etag).toMatch(/^W\/"[0-9a-f]{24}"$/)
	const ask = (known: string) => page(get('/_yaoki/app.css', { headers: { 'if-none-match': known } }))
	expect([(await ask(etag)).status, (await ask(`"x", ${etag}`)).status, (await ask('"x"')).status]).toEqual([
		304, 304, 200,
	])
})

test('an asset and a large answer are compressed if the client accepts it', async () => {
	const { page, parts } = fakeDashboard()
	parts.live = { ...parts.live, circuits: [circuitWith(1, 'x'.repeat(5_000))] }
	for (const path of ['/_yaoki/app.js', '/_yaoki/api/overview']) {
		const plain = await page(get(path))
		const gzip = await page(get(path, { headers: { 'accept-encoding': 'br, gzip' } }))
		expect([plain.headers.get('content-encoding'), gzip.headers.get('content-encoding')]).toEqual([
			null,
			'gzip',
		])
		expect(gzip.headers.get('vary')).toBe('accept-encoding')
		const bytes = new Uint8Array(await gzip.arrayBuffer())
		expect(Number(gzip.headers.get('content-length'))).toBe(bytes.length)
		const text = await plain.text()
		expect(gunzipSync(bytes).toString().slice(20)).toBe(text.slice(20))
	}
})

test.each([
	['gzip', true],
	['br, GZIP;q=0.5', true],
	['gzip;q=0.001', true],
	['x-gzip', true],
	['gzip;q=0', false],
	['br, gzip ; q=0.0', false],
	['br', false],
	['notgzip', false],
	['', false],
])('the encoding "%s" accepts gzip: %s', (encoding, expected) => {
	expect(acceptsGzip(get('/', { headers: { 'accept-encoding': encoding } }))).toBe(expected)
})

test.each([
	['observe', { observe: 5 }],
	['observe.a', { observe: { a: {} } }],
	['authorize', { authorize: true }],
	['basePath', { basePath: 'ops' }],
	['basePath', { basePath: '/ops?x' }],
	['payloads', { payloads: 'some' }],
	['maxFailedCalls', { maxFailedCalls: 0.5 }],
	['authorise', { authorise: () => 'all' }],
])('rejects an invalid option %s', (option, given) => {
	expect(() => dashboard({ observe: { a: bulkhead({ maxConcurrent: 1 }) }, ...given } as never)).toThrow(
		expect.objectContaining({ name: 'InvalidOptionError', optionPath: option }),
	)
})

test('passes checked options to its halves', () => {
	const { parts } = fakeDashboard({ maxFailedCalls: 7, redact: (text) => text.replace('Ada', '-') })
	expect(parts.settings).toMatchObject({ maxFailedCalls: 7, payloads: 'shown', pid: process.pid })
	expect(parts.settings?.redact('Ada, password=x', 'error')).toBe('-, password=***')
})

test('responds with 404 outside of basePath', async () => {
	const { page } = fakeDashboard({ basePath: '/ops/retries/' })
	expect((await page(get('/ops/retries/'))).status).toBe(200)
	expect((await page(get('/ops/retries/_yaoki/app.js'))).status).toBe(200)
	expect((await page(get('/ops/'))).status).toBe(404)
	expect((await page(get('/_yaoki/app.js'))).status).toBe(404)
})

test('closes both halves, and responds with 503 afterwards', async () => {
	const { page, parts } = fakeDashboard()
	await page.close()
	expect(parts.closed).toEqual(['live', 'queue'])
	const response = await page(get('/_yaoki/api/overview'))
	expect([response.status, await response.json()]).toMatchObject([503, { code: 'closed' }])
})
