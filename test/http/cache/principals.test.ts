import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ResponseCache } from '../../../src/http/cache/response-cache.ts'
import { CREDENTIAL_HEADERS } from '../../../src/http/headers/request-headers.ts'
import { answer, found, get, textOf, URL_A } from './cache-responses.ts'

/** Values that a careless key would mix up: empty, absent, with separators, with quotes, one the beginning of another. */
const values = fc.constantFrom(undefined, '', 'a', 'b', 'ab', 'a,b', 'a","b', 'null', 'a; b')
const headersOf = (given: Record<string, string | undefined>) =>
	Object.fromEntries(
		Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
	)

/** Requests that differ by one of two values at most, so that some are the same. */
const requests = fc.tuple(values, values).chain(([one, other]) => {
	const value = fc.constantFrom(one, other)
	const request = fc.record({
		authorization: value,
		cookie: value,
		'x-tenant': value,
		'accept-language': value,
	})
	return fc.array(request, { minLength: 2, maxLength: 4 })
})
const varies = fc.constantFrom(
	undefined,
	'X-Tenant',
	' accept-language ',
	'x-tenant,Accept-Language',
	'Authorization',
	'cookie, X-TENANT',
	', ,',
	'*',
)
const histories = requests.chain((asked) =>
	fc.array(fc.tuple(fc.constantFrom(...asked), varies, fc.boolean()), { maxLength: 30, size: 'max' }),
)
type Asked = Readonly<Record<string, string | undefined>>

describe('whatever servers say in Vary, and in any order', () => {
	it('never returns the response of another principal or of another Vary value', () => {
		let hits = 0
		fc.assert(
			fc.property(histories, (steps) => {
				const cache = new ResponseCache()
				const answered: { asked: Asked; names: Set<string> }[] = []
				for (const [asked, vary, isFind] of steps) {
					const sent: Asked = asked
					const request = get(headersOf(sent))
					const { authorization, cookie } = asked
					if (isFind) {
						const text = found(cache, request)
						if (text === undefined) continue
						hits++
						const made = answered[Number(text)]
						expect(made).toBeDefined()
						expect(made?.asked).toMatchObject({ authorization, cookie })
						for (const name of made?.names ?? []) expect(made?.asked[name], name).toBe(sent[name])
					} else {
						const names = (vary ?? '').split(',').map((name) => name.trim().toLowerCase())
						// From now on the older entries count as varying by these too.
						for (const { names: known } of answered)
							for (const name of names) if (name && name !== '*') known.add(name)
						cache.store(request, answer(`${answered.length}`, vary === undefined ? {} : { vary }), 0)
						answered.push({ asked, names: new Set(names.filter((name) => name && name !== '*')) })
					}
				}
			}),
			{ numRuns: 1_000 },
		)
		// Something must be found, or the test proves nothing.
		expect(hits).toBeGreaterThan(100)
	})

	it('returns exactly the latest response for the same headers', () => {
		fc.assert(
			fc.property(histories, (steps) => {
				const cache = new ResponseCache()
				for (const [index, [asked, vary]] of steps.entries()) {
					const request = get(headersOf(asked))
					const isKept = cache.store(request, answer(`${index}`, vary === undefined ? {} : { vary }), 0)
					expect(found(cache, request)).toBe(isKept ? `${index}` : undefined)
				}
			}),
		)
	})
})

describe('credentials', () => {
	it.each(CREDENTIAL_HEADERS)(
		'in %s separate entries, though the server does not name it in Vary',
		(name) => {
			const cache = new ResponseCache()
			cache.store(get({ [name]: 'ann' }), answer('for ann'), 0)
			cache.store(get({ [name]: 'bob' }), answer('for bob'), 0)
			expect(found(cache, get({ [name]: 'ann' }))).toBe('for ann')
			expect(found(cache, get({ [name]: 'bob' }))).toBe('for bob')
			for (const headers of [{}, { [name]: '' }, { [name]: 'ANN' }])
				expect(found(cache, get(headers))).toBeUndefined()
		},
	)

	it.each(CREDENTIAL_HEADERS)('credentials in %s allow a private response to be stored', (name) => {
		const cache = new ResponseCache()
		const response = answer('for ann', { 'cache-control': 'private' })
		expect(cache.store(get({ [name]: 'ann' }), response, 0)).toBe(true)
		expect(found(cache, get({ [name]: 'bob' }))).toBeUndefined()
	})

	it('credentials that the principal function knows separate entries, and allow a private response to be stored', () => {
		const cache = new ResponseCache()
		const of = (principal?: string) => ({ ...get(), principal })
		for (const name of ['ann', 'bob'])
			expect(cache.store(of(name), answer(`for ${name}`, { 'cache-control': 'private' }), 0)).toBe(true)
		expect(['ann', 'bob', 'eve', 'null', undefined].map((name) => found(cache, of(name)))).toEqual([
			'for ann',
			'for bob',
			undefined,
			undefined,
			undefined,
		])
	})

	it('credentials in one header differ from the same value in another', () => {
		const cache = new ResponseCache()
		cache.store(get({ authorization: 'a' }), answer('one'), 0)
		expect(found(cache, get({ cookie: 'a' }))).toBeUndefined()
	})
})

describe('what Vary names', () => {
	it('is the same header in any case and with any whitespace', () => {
		const cache = new ResponseCache()
		cache.store(get({ 'Accept-Language': ' ja ' }), answer('はい', { vary: ' ACCEPT-language ,, ' }), 0)
		cache.store(get({ 'accept-language': 'en' }), answer('yes', { vary: 'Accept-Language' }), 0)
		expect(found(cache, get({ 'ACCEPT-LANGUAGE': 'ja\t' }))).toBe('はい')
		expect(found(cache, get({ 'Accept-Language': 'en' }))).toBe('yes')
		expect(found(cache, get())).toBeUndefined()
	})

	it('may be on several lines', () => {
		const cache = new ResponseCache()
		const headers = new Headers([
			['vary', 'x-a'],
			['vary', 'x-b'],
		])
		cache.store(get({ 'x-a': '1', 'x-b': '1' }), answer('one', headers), 0)
		expect(found(cache, get({ 'x-a': '1', 'x-b': '1' }))).toBe('one')
		expect(found(cache, get({ 'x-a': '1', 'x-b': '2' }))).toBeUndefined()
		expect(found(cache, get({ 'x-a': '2', 'x-b': '1' }))).toBeUndefined()
	})

	it('can appear later: earlier entries are then not returned', () => {
		const cache = new ResponseCache()
		cache.store(get({ 'x-tenant': 'ann' }), answer('for ann'), 0)
		cache.store(get({ 'x-tenant': 'bob', cookie: 'b' }), answer('for bob', { vary: 'x-tenant' }), 0)
		for (const tenant of ['ann', 'bob', 'eve'])
			expect(found(cache, get({ 'x-tenant': tenant }))).toBeUndefined()
		expect(cache.stats.entries).toBe(1)
		expect(found(cache, get({ 'x-tenant': 'bob', cookie: 'b' }))).toBe('for bob')
	})

	it('stays known while the URL has an entry, though a later response does not name it', () => {
		const cache = new ResponseCache()
		cache.store(get({ 'x-tenant': 'ann' }), answer('for ann', { vary: 'x-tenant' }), 0)
		cache.store(get({ 'x-tenant': 'bob' }), answer('for bob'), 0)
		expect(found(cache, get({ 'x-tenant': 'ann' }))).toBe('for ann')
		expect(found(cache, get({ 'x-tenant': 'bob' }))).toBe('for bob')
		expect(found(cache, get({ 'x-tenant': 'eve' }))).toBeUndefined()
	})

	it('accumulates over responses, so that they do not evict each other', () => {
		const cache = new ResponseCache()
		const names = ['x-a', 'x-b', 'x-a', 'x-b']
		for (const [i, vary] of names.entries()) cache.store(get({ 'x-a': `${i}` }), answer(`${i}`, { vary }), 0)
		expect(names.map((_, i) => found(cache, get({ 'x-a': `${i}` })))).toEqual([undefined, '1', '2', '3'])
	})

	it('is removed with the last entry of the URL', () => {
		const cache = new ResponseCache({ maxAgeMs: 100 })
		cache.store(get({ 'x-a': '1' }), answer('one', { vary: 'x-a' }), 0)
		cache.store(get({ 'x-a': '1' }), answer('two'), 101)
		expect(found(cache, get({ 'x-a': '2' }), 101)).toBe('two')
	})

	it('applies to its own URL only', () => {
		const cache = new ResponseCache()
		cache.store(get({ 'x-a': '1' }), answer('one', { vary: 'x-a' }), 0)
		cache.store(get({ 'x-a': '1' }, `${URL_A}b`), answer('two'), 0)
		expect(found(cache, get({ 'x-a': '2' }, `${URL_A}b`))).toBe('two')
	})

	it('a Vary of * removes all entries of the URL', () => {
		const cache = new ResponseCache()
		cache.store(get(), answer('one'), 0)
		cache.store(get({ cookie: 'b' }), answer('two'), 0)
		cache.isWanted(get({ cookie: 'c' }), answer('', { vary: '*' }), 0)
		expect(cache.stats).toMatchObject({ entries: 0, bytes: 0 })
	})

	it('is bounded, though the server names another header each time', () => {
		const cache = new ResponseCache()
		const asked: string[] = []
		const recorded = (name: string) => {
			asked.push(name)
			return null
		}
		const request = { ...get(), headers: { get: recorded } }
		for (let i = 0; i < 1_000; i++) cache.store(request, answer(`${i}`, { vary: `x-${i}` }), 0)
		asked.length = 0
		cache.find(request, 0)
		expect(asked.length).toBeLessThan(50)
		expect(cache.stats.entries).toBeLessThanOrEqual(1)
	})

	it('works with headers of any kind', () => {
		const cache = new ResponseCache()
		const request = new Request(URL_A, { headers: { 'x-a': '1' } })
		cache.store(request, answer('one', { vary: 'X-A' }), 0)
		expect(textOf(cache.find(get({ 'x-a': '1' }), 0))).toBe('one')
	})
})
