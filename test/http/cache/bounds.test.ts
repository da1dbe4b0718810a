import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ResponseCache } from '../../../src/http/cache/response-cache.ts'
import { answer, found, get } from './cache-responses.ts'

interface Known {
	readonly text: string
	readonly at: number
	/** Which use was its latest. */
	turn: number
}

const pages = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
const steps = fc.array(
	fc.record({
		act: fc.constantFrom('keep', 'keep', 'find', 'find', 'write', 'clear'),
		page: pages,
		cookie: fc.constantFrom('', 'ann', 'bob'),
		size: fc.nat({ max: 400 }),
		waitMs: fc.constantFrom(0, 0, 1, 30, 101),
	}),
	{ maxLength: 80 },
)

const urlOf = (page: string) => `https://api.example.com/${page}`

describe('for any sequence of operations', () => {
	it('the least recently used entries are evicted first, expired ones are removed, and the rest is found', () => {
		fc.assert(
			fc.property(fc.integer({ min: 1, max: 5 }), steps, (maxEntries, history) => {
				const cache = new ResponseCache({ maxEntries, maxAgeMs: 100 })
				const model = new Map<string, Known>()
				let [now, turn] = [0, 0]
				for (const { act, page, cookie, size, waitMs } of history) {
					now += waitMs
					const key = `${page} ${cookie}`
					const request = get({ cookie }, urlOf(page))
					for (const [old, { at }] of model) if (now - at > 100) model.delete(old)
					if (act === 'keep') {
						const text = `${turn}`.padEnd(size)
						cache.store(request, answer(text), now)
						model.set(key, { text, at: now, turn: ++turn })
						const [oldest] = [...model].sort(([, a], [, b]) => a.turn - b.turn)
						if (model.size > maxEntries && oldest) model.delete(oldest[0])
					} else if (act === 'find') {
						const known = model.get(key)
						if (known) known.turn = ++turn
						expect(found(cache, request, now)).toBe(known?.text)
					} else if (act === 'write') {
						cache.isWanted({ ...request, method: 'PUT' }, answer(''), now)
						for (const old of model.keys()) if (old.startsWith(page)) model.delete(old)
					} else {
						cache.clear()
						model.clear()
					}
					if (act !== 'clear') expect(cache.stats.entries).toBe(model.size)
				}
			}),
			{ numRuns: 1_000 },
		)
	})

	it('the size never exceeds maxBytes, and is 0 when the cache is empty', () => {
		fc.assert(
			fc.property(fc.integer({ min: 0, max: 2_000 }), steps, (maxBytes, history) => {
				const cache = new ResponseCache({ maxBytes, maxAgeMs: 100 })
				let now = 0
				for (const { act, page, cookie, size, waitMs } of history) {
					now += waitMs
					const request = get({ cookie }, urlOf(page))
					const text = 'x'.repeat(size)
					if (act === 'find') cache.find(request, now)
					else if (act !== 'keep') cache.clear()
					// The newest is not the one that has to make room.
					else if (cache.store(request, answer(text), now)) expect(found(cache, request, now)).toBe(text)
					else expect(size + 200).toBeGreaterThan(maxBytes)
					const { bytes, entries } = cache.stats
					expect(bytes).toBeLessThanOrEqual(maxBytes)
					expect(bytes > 0).toBe(entries > 0)
				}
				cache.find(get(), now + 101)
				expect(cache.stats).toMatchObject({ entries: 0, bytes: 0 })
			}),
			{ numRuns: 1_000 },
		)
	})
})

it('a response larger than maxBytes evicts nothing', () => {
	const cache = new ResponseCache({ maxBytes: 1_000 })
	cache.store(get({}, urlOf('a')), answer('small'), 0)
	expect(cache.store(get({}, urlOf('b')), answer('x'.repeat(990)), 0)).toBe(false)
	expect(found(cache, get({}, urlOf('a')))).toBe('small')
})

it('an entry that was just returned is not evicted before older ones', () => {
	const cache = new ResponseCache({ maxEntries: 2 })
	cache.store(get({}, urlOf('dead')), answer('last good'), 0)
	for (let i = 0; i < 10; i++) {
		cache.store(get({}, urlOf(`alive-${i}`)), answer('fine'), i)
		expect(found(cache, get({}, urlOf('dead')), i)).toBe('last good')
	}
})

it('a hundred thousand responses do not leak memory', () => {
	const cache = new ResponseCache({ maxEntries: 10 })
	const response = answer('x')
	const { headers } = get()
	for (let i = 0; i < 100_000; i++) cache.store({ method: 'GET', url: urlOf(`${i}`), headers }, response, i)
	expect(cache.stats.entries).toBe(10)
	expect(cache.stats.bytes).toBeLessThan(2_000)
})
