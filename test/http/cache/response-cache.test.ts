import { describe, expect, it, test } from 'vitest'
import type { CachedRequest } from '../../../src/http/cache/cacheability.ts'
import { ResponseCache } from '../../../src/http/cache/response-cache.ts'
import { answer, found, get, textOf, URL_A } from './cache-responses.ts'

describe('the last successful response', () => {
	it('is found unchanged: status, text, URL, headers and bytes', () => {
		const cache = new ResponseCache()
		const headers = { 'Content-Type': 'text/plain', ETag: '"1"', 'Cache-Control': 'private, max-age=0' }
		const request = get({ authorization: 'ann' })
		expect(cache.store(request, answer('one', headers, 203), 5)).toBe(true)
		expect(cache.find(request, 6)).toEqual({
			status: 203,
			statusText: 'OK',
			url: URL_A,
			headers: [
				['cache-control', 'private, max-age=0'],
				['content-type', 'text/plain'],
				['etag', '"1"'],
			],
			bytes: new TextEncoder().encode('one'),
			storedAt: 5,
		})
	})

	it('replaces the previous one', () => {
		const cache = new ResponseCache()
		for (const text of ['one', 'two', 'three']) cache.store(get(), answer(text), 0)
		expect(found(cache, get())).toBe('three')
		expect(cache.stats.entries).toBe(1)
	})

	it('is found whatever the fragment, which is not sent to the server', () => {
		const cache = new ResponseCache()
		cache.store(get({}, `${URL_A}?q=1#top`), answer('one'), 0)
		expect(found(cache, get({}, `${URL_A}?q=1`))).toBe('one')
		expect(found(cache, get({}, `${URL_A}?q=1#end`))).toBe('one')
		expect(found(cache, get({}, `${URL_A}?q=2#top`))).toBeUndefined()
	})

	it('is found until maxAgeMs, and then removed by any access', () => {
		const cache = new ResponseCache({ maxAgeMs: 100 })
		cache.store(get({ authorization: 'secret' }), answer('one'), 1_000)
		expect(found(cache, get({ authorization: 'secret' }), 1_100)).toBe('one')
		cache.find(get({}, 'https://other.example.com/'), 1_101)
		expect(cache.stats).toMatchObject({ entries: 0, bytes: 0 })
	})

	it('ages from when it was stored, not from when it was last found', () => {
		const cache = new ResponseCache({ maxAgeMs: 100 })
		cache.store(get(), answer('one'), 0)
		for (let now = 0; now <= 100; now += 10) expect(found(cache, get(), now)).toBe('one')
		expect(found(cache, get(), 101)).toBeUndefined()
	})

	it('is stored up to maxBodyBytes, and the previous one stays if the next is larger', () => {
		const cache = new ResponseCache({ maxBodyBytes: 3 })
		expect(cache.maxBodyBytes).toBe(3)
		expect(cache.store(get(), answer('123'), 0)).toBe(true)
		expect(cache.store(get(), answer('1234'), 0)).toBe(false)
		expect(found(cache, get())).toBe('123')
	})

	it('does not keep the large buffer behind a small view alive', () => {
		const cache = new ResponseCache()
		const slice = new Uint8Array(1_000_000).subarray(10, 13)
		cache.store(get(), { ...answer(''), bytes: slice }, 0)
		expect(cache.find(get(), 0)?.bytes.buffer.byteLength).toBe(3)
	})

	it('is not changed when the caller changes the stored headers', () => {
		const cache = new ResponseCache()
		const response = answer('one', { 'x-a': '1' })
		cache.store(get(), response, 0)
		response.headers.set('x-a', '2')
		expect(cache.find(get(), 0)?.headers).toEqual([['x-a', '1']])
	})
})

describe('a response is never stored', () => {
	const notStorable: [string, CachedRequest, ReturnType<typeof answer>][] = [
		...['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'PROPFIND'].map(
			(method): [string, CachedRequest, ReturnType<typeof answer>] => [
				`an answer to ${method}`,
				get({}, URL_A, method),
				answer('x'),
			],
		),
		...[206, 301, 304, 404, 429, 500, 503].map(
			(status): [string, CachedRequest, ReturnType<typeof answer>] => [
				`an answer with ${status}`,
				get(),
				answer('x', {}, status),
			],
		),
		['no-store in the request', get({ 'cache-control': 'No-Store' }), answer('x')],
		['no-store in the answer', get(), answer('x', { 'cache-control': 'private, NO-STORE' })],
		['no-store without a space', get(), answer('x', { 'cache-control': 'max-age=0,no-store' })],
		['an answer that sets a cookie', get(), answer('x', { 'set-cookie': 'session=1' })],
		['an answer after a redirect', get({ cookie: 'a' }), { ...answer('x'), redirected: true }],
		['private without a credential', get(), answer('x', { 'cache-control': 'max-age=60, Private' })],
		['private with an empty credential', get({ cookie: '' }), answer('x', { 'cache-control': 'private' })],
		['Vary: *', get(), answer('x', { vary: '*' })],
		['Vary with * among names', get(), answer('x', { vary: 'accept , *' })],
		['Vary with what is no name', get(), answer('x', { vary: 'accept encoding' })],
		[
			'Vary with too many names',
			get(),
			answer('x', { vary: Array.from({ length: 40 }, (_, i) => `x-${i}`).join() }),
		],
	]
	test.each(notStorable)('%s', (_, request, response) => {
		const cache = new ResponseCache()
		expect(cache.isWanted(request, response, 0)).toBe(false)
		expect(cache.store(request, response, 0)).toBe(false)
		expect(cache.stats.entries).toBe(0)
	})

	test('a response that is never stored is known before its body is read', () => {
		const cache = new ResponseCache()
		expect(cache.isWanted(get(), { status: 200, headers: new Headers() }, 0)).toBe(true)
		expect(cache.stats).toEqual({ entries: 0, bytes: 0, hits: 0, misses: 0 })
	})

	test('a method in lower case is the method that fetch makes of it', () => {
		const cache = new ResponseCache()
		expect(cache.store(get({}, URL_A, 'get'), answer('one'), 0)).toBe(true)
		expect(found(cache, get())).toBe('one')
	})
})

describe('a stored response', () => {
	const kept = () => {
		const cache = new ResponseCache()
		cache.store(get(), answer('one'), 0)
		return cache
	}

	test.each(['no-cache', 'no-store', 'max-age=0, No-Cache'])(
		'is not returned to a caller with %s',
		(directive) => {
			expect(found(kept(), get({ 'cache-control': directive }))).toBeUndefined()
		},
	)

	test.each(['POST', 'HEAD'])('is not returned to %s', (method) => {
		expect(found(kept(), get({}, URL_A, method))).toBeUndefined()
	})

	test('is not returned to a range request', () => {
		expect(found(kept(), get({ range: 'bytes=0-1' }))).toBeUndefined()
	})

	test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'delete'])(
		'is not returned after a successful %s',
		(method) => {
			const cache = kept()
			expect(cache.isWanted(get({ authorization: 'other' }, URL_A, method), answer('', {}, 204), 1)).toBe(
				false,
			)
			expect(found(cache, get(), 1)).toBeUndefined()
		},
	)

	test('is returned after a failed write', () => {
		const cache = kept()
		for (const status of [400, 403, 404, 500])
			cache.isWanted(get({}, URL_A, 'PUT'), answer('', {}, status), 1)
		expect(found(cache, get(), 1)).toBe('one')
	})

	test.each([401, 403, 404, 410, 451])('is not returned after the server responded with %i', (status) => {
		const cache = kept()
		cache.store(get({ cookie: 'b' }), answer('two'), 0)
		cache.isWanted(get(), answer('', {}, status), 1)
		expect(found(cache, get(), 1)).toBeUndefined()
		expect(found(cache, get({ cookie: 'b' }), 1)).toBe('two')
	})

	test.each([304, 429, 500, 503])('is returned after %i', (status) => {
		const cache = kept()
		cache.isWanted(get(), answer('', {}, status), 1)
		expect(found(cache, get(), 1)).toBe('one')
	})
})

describe('the stats', () => {
	it('count hits and misses, also after clear', () => {
		const cache = new ResponseCache()
		cache.find(get(), 0)
		cache.store(get(), answer('one'), 0)
		cache.find(get(), 0)
		cache.find(get(), 0)
		cache.clear()
		expect(textOf(cache.find(get(), 0))).toBeUndefined()
		expect(cache.stats).toEqual({ entries: 0, bytes: 0, hits: 2, misses: 2 })
	})

	it('count headers and keys as memory, and not only bodies', () => {
		const cache = new ResponseCache()
		const before = cache.stats.bytes
		cache.store(get({ cookie: 'c'.repeat(1_000) }), answer('', { 'x-large': 'h'.repeat(2_000) }), 0)
		expect(cache.stats.bytes - before).toBeGreaterThan(3_000)
	})
})
