/** Claims of one destination that take long, beside others that do not. */
import { expect, test } from 'vitest'
import { TimeoutError } from 'yaoki'
import type { ClaimRequest } from '../../../src/outbox/store/rows.ts'
import { setup, type TestSystem } from './setup.ts'

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
function slowed(system: TestSystem, isSlow: (request: ClaimRequest) => boolean): Claims {
	const { claim } = system.store
	const claims: Claims = { running: new Set(), most: 0, ended: [] }
	system.store.claim = async (request) => {
		if (request.poisonCandidates) return claim(request)
		claims.running.add(request)
		claims.most = Math.max(claims.most, claims.running.size)
		if (isSlow(request)) await system.pause(SLOW_MS)
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

const sentAfter = (system: TestSystem, at: number): number =>
	system.sendings.filter((sending) => sending.at >= at).length

test('a destination whose claims are slow does not delay the others after its first claims', async () => {
	await using system = await setup()
	const claims = slowed(system, isClaimOf('slow'))
	const names = ['a', 'b', 'slow', 'c', 'd']
	await system.relay(Object.fromEntries(names.map((name) => [name, system.sends()])))
	// A claim of all, then of half, then of a quarter.
	await system.clock.advance(4 * SLOW_MS)
	for (const name of names.filter((name) => name !== 'slow')) {
		await system.enqueue(1, { topic: name })
		const at = system.clock.now()
		await system.clock.advance(100)
		expect(sentAfter(system, at), name).toBe(1)
	}
	expect(claims.most).toBeLessThanOrEqual(4)
	expect(claims.ended.filter((ended) => ended.includes('slow')).at(-1)).toEqual(['slow'])
})

test('the first claim of an ordered destination does not delay others', async () => {
	await using system = await setup()
	slowed(system, isClaimOf('ordered'))
	await system.enqueue(1, { topic: 'jobs' })
	await system.relay({ ordered: { deliver: system.sends(), order: true }, jobs: system.sends() })
	await system.clock.advance(100)
	expect(system.payloads()).toHaveLength(1)
})

test('while all claims are fast, one claim serves all destinations', async () => {
	await using system = await setup()
	const claims = slowed(system, () => false)
	await system.relay({ a: system.sends(), b: system.sends(), c: system.sends() })
	await system.clock.advance(10_000)
	expect(claims.most).toBe(1)
	for (const ended of claims.ended) expect(ended).toEqual(['a', 'b', 'c'])
})

test('when claims have been fast for a minute, one claim serves all destinations again', async () => {
	await using system = await setup()
	let isSlow = true
	const claims = slowed(system, (request) => isSlow && isClaimOf('b')(request))
	await system.relay({ a: system.sends(), b: system.sends() })
	await system.clock.advance(4 * SLOW_MS)
	expect(claims.ended.at(-1)).toHaveLength(1)
	isSlow = false
	await system.clock.advance(70_000)
	expect(claims.ended.at(-1)).toEqual(['a', 'b'])
})

test.each([false, true])(
	'a full scan that takes long does not delay messages of its own destination, ordered: %s',
	async (order) => {
		await using system = await setup()
		const claims = slowed(system, ({ targets }) => targets.some(({ since, keys }) => since === 0 && !keys))
		await system.enqueue(1, { key: 'k' })
		await system.relay({ jobs: { deliver: system.sends(), order } })
		// The first full scan, and a small one that measures.
		await system.clock.advance(4 * SLOW_MS)
		const startedAt = system.clock.now()
		let isBesideFullScan = false
		for (let count = 0; count < 400; count++) {
			await system.enqueue(1, { key: `k${count % 3}` })
			await system.clock.advance(100)
			isBesideFullScan ||= claims.running.size > 0
			expect(sentAfter(system, startedAt)).toBe(count + 1)
		}
		expect(isBesideFullScan).toBe(true)
		expect(new Set(system.payloads()).size).toBe(system.payloads().length)
	},
)

test('a full scan that a reduced claim leaves out runs later', async () => {
	await using system = await setup()
	const { claim } = system.store
	let isTooSlow = false
	const scanned: string[][] = []
	system.store.claim = async (request) => {
		const isFullScan = !request.poisonCandidates && request.targets.some(({ since }) => since === 0)
		if (isFullScan) await system.pause(200)
		if (isFullScan && isTooSlow) throw new TimeoutError('claim', 200)
		if (isFullScan) scanned.push(namesOf(request))
		return claim(request)
	}
	const names = ['a', 'b']
	for (const topic of names) await system.enqueue(1, { topic })
	await system.relay(Object.fromEntries(names.map((name) => [name, system.sends()])))
	await system.clock.advance(10_000)
	// Full scans are cancelled until they ask for one message of one destination.
	isTooSlow = true
	await system.clock.advance(300_000)
	isTooSlow = false
	await system.clock.advance(60_000)
	scanned.length = 0
	await system.clock.advance(10_000)
	expect(new Set(scanned.flat())).toEqual(new Set(names))
})

test('a stop waits for slow claims and releases what they return', async () => {
	await using system = await setup()
	const claims = slowed(system, isClaimOf('slow'))
	const relay = await system.relay({ fast: system.sends(), slow: system.sends() })
	await system.clock.advance(3 * SLOW_MS)
	await system.enqueue(1, { topic: 'slow' })
	while (claims.running.size === 0) await system.clock.advance(10)
	const stopped = relay.stop()
	await system.clock.advance(2 * SLOW_MS)
	await stopped
	expect(claims.running.size).toBe(0)
	const [message] = await system.outbox.list()
	expect(message).toMatchObject({ status: 'pending', attempts: 0 })
})

test('a slow search for destinations does not delay those that are known', async () => {
	await using system = await setup()
	const { dueDestinations } = system.store
	let searching = 0
	system.store.dueDestinations = async (limit, after) => {
		searching++
		await system.pause(SLOW_MS)
		const found = await dueDestinations(limit, after)
		searching--
		return found
	}
	await system.relay({ '*': system.sends(), known: system.sends() })
	await system.clock.advance(2 * SLOW_MS)
	let isBesideSearch = false
	for (let count = 1; count <= 300; count++) {
		await system.enqueue(1, { topic: 'known' })
		await system.clock.advance(100)
		isBesideSearch ||= searching > 0
		expect(system.payloads()).toHaveLength(count)
	}
	expect(isBesideSearch).toBe(true)
	await system.enqueue(1, { topic: 'other' })
	await system.clock.advance(30_000)
	expect(system.payloads()).toHaveLength(301)
})
