import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cachedResponse, isCachedResponse } from '../../../src/http/cache/cached-response.ts'
import type { CachedEntry } from '../../../src/http/cache/response-cache.ts'

const keptWith = (headers: Record<string, string> = {}, text = 'hello', status = 200): CachedEntry => ({
	status,
	statusText: 'Fine',
	url: 'https://api.example.com/after/redirect',
	headers: Object.entries(headers),
	bytes: new TextEncoder().encode(text),
	storedAt: 0,
})

describe('a cached response', () => {
	it('is a real Response with the original status, URL, headers and body', async () => {
		const response = cachedResponse(keptWith({ 'content-type': 'application/json' }, '{"a":1}', 203), 0)
		expect(response).toBeInstanceOf(Response)
		const { status, statusText, url, ok } = response
		expect({ status, statusText, url, ok }).toEqual({
			status: 203,
			statusText: 'Fine',
			url: 'https://api.example.com/after/redirect',
			ok: true,
		})
		expect(response.headers.get('content-type')).toBe('application/json')
		expect(await response.json()).toEqual({ a: 1 })
	})

	it('can be returned again, whatever the caller did with the previous one', async () => {
		const kept = keptWith()
		const first = new Uint8Array(await cachedResponse(kept, 0).arrayBuffer())
		first.fill(0)
		const second = cachedResponse(kept, 0)
		second.headers.set('age', '77')
		expect(await second.text()).toBe('hello')
		const third = cachedResponse(kept, 0)
		expect(third.headers.get('age')).toBe('0')
		expect(await third.text()).toBe('hello')
	})

	it.each([204, 205])('can have no body: %i', async (status) => {
		const response = cachedResponse(keptWith({}, '', status), 0)
		expect([response.status, response.body, await response.text()]).toEqual([status, null, ''])
	})

	it('can be empty', async () => {
		expect(await cachedResponse(keptWith({}, ''), 0).text()).toBe('')
	})
})

describe('the mark of a cached response', () => {
	it('a cached response is marked for code: isCachedResponse is false for other responses, even with the headers', () => {
		const response = cachedResponse(keptWith(), 0)
		expect(isCachedResponse(response)).toBe(true)
		expect(isCachedResponse(new Response(null, { headers: response.headers }))).toBe(false)
	})

	it.each([
		[0, undefined, '0'],
		[999, undefined, '0'],
		[1_000, undefined, '1'],
		[61_500, undefined, '61'],
		[1_999, '100', '101'],
		[5_000, 'garbage', '5'],
		[5_000, '-3', '5'],
		[5_000, '9'.repeat(40), '5'],
		[-5, undefined, '0'],
	])(
		'a cached response is marked with an age in whole seconds: %i ms, after %s on the way, is %s',
		(ageMs, before, age) => {
			const kept = keptWith(before === undefined ? {} : { age: before })
			expect(cachedResponse(kept, ageMs).headers.get('age')).toBe(age)
		},
	)

	it('a cached response is marked by Cache-Status, appended to that of other caches', () => {
		expect(cachedResponse(keptWith(), 0).headers.get('cache-status')).toBe('yaoki; hit; detail=circuit-open')
		const kept = keptWith({ 'cache-status': '"Some CDN"; hit; ttl=3' })
		expect(cachedResponse(kept, 0, 'failure').headers.get('cache-status')).toBe(
			'"Some CDN"; hit; ttl=3, yaoki; hit; detail=failure',
		)
	})

	it.each([
		['HTTP/503', 'HTTP/503'],
		['circuit open', '"circuit open"'],
		['503', '"503"'],
		['', '""'],
		['say "no" \\', '"say \\"no\\" \\\\"'],
		['a\r\nx-evil: 1', '"a??x-evil: 1"'],
		['遮断中', '"???"'],
	])('a cached response is marked with any detail, as a token or a string: %j is %s', (detail, written) => {
		expect(cachedResponse(keptWith(), 0, detail).headers.get('cache-status')).toBe(
			`yaoki; hit; detail=${written}`,
		)
	})

	it('a cached response is marked with any detail, none of which can inject a header or make it invalid', () => {
		const member = /^yaoki; hit; detail=([A-Za-z*][\w!#$%&'*+.^`|~:/-]*|"([ !#-[\]-~]|\\["\\])*")$/
		fc.assert(
			fc.property(
				fc.string({ unit: fc.nat({ max: 0xffff }).map((code) => String.fromCharCode(code)) }),
				(detail) => {
					expect(cachedResponse(keptWith(), 0, detail).headers.get('cache-status')).toMatch(member)
				},
			),
		)
	})
})

describe('the headers of a cached response', () => {
	const names = (headers: Record<string, string>) => [
		...cachedResponse(keptWith({ ...headers, 'x-mine': '1' }), 0).headers.keys(),
	]

	it('do not describe the encoding of a body that was decoded', () => {
		const encoded = { 'content-encoding': 'gzip', 'content-length': '25' }
		expect(names(encoded)).toEqual(['age', 'cache-status', 'x-mine'])
		expect(names({ 'content-encoding': 'br' })).toEqual(['age', 'cache-status', 'x-mine'])
	})

	it('do not describe the original connection', () => {
		const connection = { connection: 'keep-alive', 'keep-alive': 'timeout=5', 'transfer-encoding': 'chunked' }
		expect(names(connection)).toEqual(['age', 'cache-status', 'x-mine'])
	})

	it('contain a content-length that is correct', () => {
		expect(names({ 'content-length': '5' })).toContain('content-length')
	})
})
