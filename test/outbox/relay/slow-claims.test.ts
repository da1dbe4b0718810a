/** Claims of one destination that take long, beside others that do not. */
import { expect, test } from 'vitest'
import { TimeoutError } from 'yaoki'
import type { ClaimRequest } from '../../../src/outbox/store/rows.ts'
import { type World, world } from './world.ts'

const SLOW_MS = 2_000

interface Claims {
	/** Destinations of the claims that run now. */
	readonly running: Set<ClaimRequest>
	/** The greatest number of claims that ran concurrently. */
	most: number
	/** The destinations of each claim that ended. */
	readonly ended: string[][]
}

const namesOf = ({ targets }: ClaimRequest): string[] => targets.map(({ destination }) => destination)

/** Claims that `isSlow` selects take `SLOW_MS`. */
function slowed(w: World, isSlow: (request: ClaimRequest) => boolean): Claims {
	const { claim } = w.store
	const claims: Claims = { running: new Set(), most: 0, ended: [] }
	w.store.claim = async (request) => {
		if (request.poisonCandidates) return claim(request)
		claims.running.add(request)
		claims.most = Math.max(claims.most, claims.running.size)
		if (isSlow(request)) await w.pause(SLOW_MS)
		const result = await claim(request)
		claims.running.delete(request)
		claims.ended.push(namesOf(request))
		return result
	}
	return claims
}

const isClaimOf =
	(name: string) =>
	(request: ClaimRequest): boolean =>
		namesOf(request).includes(name)

const sentAfter = (w: World, at: number): number => w.sendings.filter((sending) => sending.at >= at).length

test('a destination whose claims are slow does not delay the others after its first claims', async () => {
	await using w = await world()
	const claims = slowed(w, isClaimOf('slow'))
	const names = ['a', 'b', 'slow', 'c', 'd']
	await w.relay(Object.fromEntries(names.map((name) => [name, w.sends()])))
	// A claim of all, then of half, then of a quarter.
	await w.clock.advance(4 * SLOW_MS)
	for (const name of names.filter((name) => name !== 'slow')) {
		await w.enqueue(1, { topic: name })
		const at = w.clock.now()
		await w.clock.advance(100)
		expect(sentAfter(w, at), name).toBe(1)
	}
	expect(claims.most).toBeLessThanOrEqual(4)
	expect(claims.ended.filter((ended) => ended.includes('slow')).at(-1)).toEqual(['slow'])
})

test('the first claim of an ordered destination does not delay others', async () => {
	await using w = await world()
	slowed(w, isClaimOf('ordered'))
	await w.enqueue(1, { topic: 'jobs' })
	await w.relay({ ordered: { deliver: w.sends(), order: true }, jobs: w.sends() })
	await w.clock.advance(100)
	expect(w.payloads()).toHaveLength(1)
})

test('while all claims are fast, one claim serves all destinations', async () => {
	await using w = await world()
	const claims = slowed(w, () => false)
	await w.relay({ a: w.sends(), b: w.sends(), c: w.sends() })
	await w.clock.advance(10_000)
	expect(claims.most).toBe(1)
	for (const ended of claims.ended) expect(ended).toEqual(['a', 'b', 'c'])
})

test('when claims have been fast for a minute, one claim serves all destinations again', async () => {
	await using w = await world()
	let isSlow = true
	const claims = slowed(w, (request) => isSlow && isClaimOf('b')(request))
	await w.relay({ a: w.sends(), b: w.sends() })
	await w.clock.advance(4 * SLOW_MS)
	expect(claims.ended.at(-1)).toHaveLength(1)
	isSlow = false
	await w.clock.advance(70_000)
	expect(claims.ended.at(-1)).toEqual(['a', 'b'])
})

test.each([false, true])(
	'a full scan that takes long does not delay messages of its own destination, ordered: %s',
	async (order) => {
		await using w = await world()
		const claims = slowed(w, ({ targets }) => targets.some(({ since, keys }) => since === 0 && !keys))
		await w.enqueue(1, { key: 'k' })
		await w.relay({ jobs: { deliver: w.sends(), order } })
		// The first full scan, and a small one that measures.
		await w.clock.advance(4 * SLOW_MS)
		const startedAt = w.clock.now()
		let isBesideFullScan = false
		for (let count = 0; count < 400; count++) {
			await w.enqueue(1, { key: `k${count % 3}` })
			await w.clock.advance(100)
			isBesideFullScan ||= claims.running.size > 0
			expect(sentAfter(w, startedAt)).toBe(count + 1)
		}
		expect(isBesideFullScan).toBe(true)
		expect(new Set(w.payloads()).size).toBe(w.payloads().length)
	},
)

test('a full scan that a reduced claim leaves out runs later', async () => {
	await using w = await world()
	const { claim } = w.store
	let isTooSlow = false
	const scanned: string[][] = []
	w.store.claim = async (request) => {
		const isFullScan = !request.poisonCandidates && request.targets.some(({ since }) => since === 0)
		if (isFullScan) await w.pause(200)
		if (isFullScan && isTooSlow) throw new TimeoutError('claim', 200)
		if (isFullScan) scanned.push(namesOf(request))
		return claim(request)
	}
	const names = ['a', 'b']
	for (const topic of names) await w.enqueue(1, { topic })
	await w.relay(Object.fromEntries(names.map((name) => [name, w.sends()])))
	await w.clock.advance(10_000)
	// Full scans are cancelled until they ask for one message of one destination.
	isTooSlow = true
	await w.clock.advance(300_000)
	isTooSlow = false
	await w.clock.advance(60_000)
	scanned.length = 0
	await w.clock.advance(10_000)
	expect(new Set(scanned.flat())).toEqual(new Set(names))
})

test('a stop waits for slow claims and releases what they return', async () => {
	await using w = await world()
	const claims = slowed(w, isClaimOf('slow'))
	const relay = await w.relay({ fast: w.sends(), slow: w.sends() })
	await w.clock.advance(3 * SLOW_MS)
	await w.enqueue(1, { topic: 'slow' })
	while (claims.running.size === 0) await w.clock.advance(10)
	const stopped = relay.stop()
	await w.clock.advance(2 * SLOW_MS)
	await stopped
	expect(claims.running.size).toBe(0)
	const [message] = await w.outbox.list()
	expect(message).toMatchObject({ status: 'pending', attempts: 0 })
})

test('a slow search for destinations does not delay those that are known', async () => {
	await using w = await world()
	const { dueDestinations } = w.store
	let searching = 0
	w.store.dueDestinations = async (limit, after) => {
		searching++
		await w.pause(SLOW_MS)
		const found = await dueDestinations(limit, after)
		searching--
		return found
	}
	await w.relay({ '*': w.sends(), known: w.sends() })
	await w.clock.advance(2 * SLOW_MS)
	let isBesideSearch = false
	for (let count = 1; count <= 300; count++) {
		await w.enqueue(1, { topic: 'known' })
		await w.clock.advance(100)
		isBesideSearch ||= searching > 0
		expect(w.payloads()).toHaveLength(count)
	}
	expect(isBesideSearch).toBe(true)
	await w.enqueue(1, { topic: 'other' })
	await w.clock.advance(30_000)
	expect(w.payloads()).toHaveLength(301)
})
