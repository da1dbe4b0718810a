/** Circuits and pauses that all relays share, and changes by compare-and-set on their version. */
import assert from 'node:assert/strict'
import type { CircuitChange, DestinationCircuit } from '../../../store/rows.ts'
import {
	assertNear,
	type CaseTable,
	HOUR,
	idsOf,
	MINUTE,
	required,
	type StoreHarness,
	target,
} from '../../harness/harness.ts'

const changeTo = async (t: StoreHarness, change: Partial<CircuitChange>): Promise<DestinationCircuit> => {
	const destination = change.destination ?? 'a'
	const version = (await t.store.circuits([destination]))[0]?.version ?? 0
	const { isApplied, circuit } = await t.store.changeCircuit({
		destination,
		version,
		state: 'open',
		pausedForMs: HOUR,
		reason: 'circuit-open',
		failedProbes: 0,
		delayMs: HOUR,
		...change,
	})
	assert.equal(isApplied, true)
	return circuit
}

const readCircuit = async (t: StoreHarness, destination = 'a'): Promise<DestinationCircuit> =>
	required((await t.store.circuits([destination]))[0], 'the circuit')

export const circuits: CaseTable = {
	'returns no circuit before the first failure': async (t) => {
		await t.enqueueOne()
		assert.deepEqual(await t.store.circuits(['a', 'b']), [])
		assert.deepEqual(await t.store.circuits([]), [])
		assert.deepEqual((await t.claimTargets([target()])).circuits, [])
	},

	'an open circuit yields no messages, and the claim returns the circuit': async (t) => {
		const id = await t.enqueueOne()
		const circuit = await changeTo(t, { failedProbes: 2, delayMs: 2_000 })
		const claimed = await t.claimTargets([target()])
		assert.deepEqual(claimed.rows, [])
		assert.equal(claimed.circuits.length, 1)
		const found = required(claimed.circuits[0], 'the circuit')
		assert.deepEqual(
			[found.destination, found.state, found.reason, found.failedProbes, found.delayMs, found.version],
			['a', 'open', 'circuit-open', 2, 2_000, circuit.version],
		)
		assertNear(found.pausedForMs, HOUR, 'pausedForMs')
		assert.equal((await t.find(id)).attempts, 0)
	},

	'a probe claims while the circuit is open': async (t) => {
		const id = await t.enqueueOne()
		await changeTo(t, {})
		assert.deepEqual(await t.claimIds({ isProbe: true, limit: 1 }), [id])
	},

	'a probe claims during a pause, an open and a half-open circuit': async (t) => {
		const ids = await t.enqueue({}, {}, {})
		await t.store.pause('a', HOUR, 'retry-after')
		assert.deepEqual(await t.claimIds({ isProbe: true, limit: 1 }), ids.slice(0, 1))
		await changeTo(t, { state: 'open', pausedForMs: 0 })
		assert.deepEqual(await t.claimIds({ isProbe: true, limit: 1 }), ids.slice(1, 2))
		await changeTo(t, { state: 'half-open', pausedForMs: HOUR, reason: 'probe' })
		assert.deepEqual(await t.claimIds({ isProbe: true, limit: 1 }), ids.slice(2))
	},

	'a circuit that is not closed admits only probes, even after its time': async (t) => {
		await t.enqueueOne()
		for (const state of ['open', 'half-open'] as const) {
			await changeTo(t, { state, pausedForMs: HOUR })
			await t.advance(2 * HOUR)
			const claimed = await t.claimTargets([target()])
			assert.deepEqual(claimed.rows, [])
			assert.deepEqual(
				claimed.circuits.map((circuit) => [circuit.state, circuit.pausedForMs]),
				[[state, 0]],
			)
		}
	},

	'a closed circuit admits claims and is returned': async (t) => {
		const id = await t.enqueueOne()
		await changeTo(t, {})
		await changeTo(t, { state: 'closed', pausedForMs: 0, reason: null })
		const claimed = await t.claimTargets([target()])
		assert.deepEqual(idsOf(claimed.rows), [id])
		assert.deepEqual(
			claimed.circuits.map((circuit) => [circuit.state, circuit.pausedForMs]),
			[['closed', 0]],
		)
	},

	'a closed circuit yields nothing during a pause': async (t) => {
		const id = await t.enqueueOne()
		await changeTo(t, { state: 'closed', pausedForMs: HOUR, reason: 'retry-after' })
		assert.deepEqual(await t.claimIds(), [])
		await t.advance(HOUR + 1)
		assert.deepEqual(await t.claimIds(), [id])
	},

	'a circuit affects only its own destination': async (t) => {
		await t.enqueueOne()
		const id = await t.enqueueOne({ destination: 'b' })
		await changeTo(t, {})
		const claimed = await t.claimTargets([target({ destination: 'a' }), target({ destination: 'b' })])
		assert.deepEqual(idsOf(claimed.rows), [id])
		assert.deepEqual(
			claimed.circuits.map((circuit) => circuit.destination),
			['a'],
		)
	},

	'an open circuit rejects claims of poison candidates': async (t) => {
		await t.enqueueOne()
		await t.claimOne({ leaseMs: MINUTE })
		await t.advance(HOUR)
		await changeTo(t, {})
		assert.deepEqual(await t.claimIds({ poisonCandidates: true, poisonAfter: 1 }), [])
	},

	'returns only requested circuits, each once': async (t) => {
		for (const destination of ['a', 'b', 'c']) await changeTo(t, { destination })
		const found = await t.store.circuits(['c', 'a', 'x'])
		assert.deepEqual(found.map((circuit) => circuit.destination).sort(), ['a', 'c'])
	},

	'pausedForMs decreases to 0 and not below': async (t) => {
		await changeTo(t, { pausedForMs: 2 * HOUR })
		await t.advance(HOUR)
		assertNear((await readCircuit(t)).pausedForMs, HOUR, 'pausedForMs')
		await t.advance(5 * HOUR)
		assert.equal((await readCircuit(t)).pausedForMs, 0)
	},

	'a pause blocks claims for its time and leaves the state closed': async (t) => {
		const id = await t.enqueueOne()
		await t.store.pause('a', HOUR, 'retry-after')
		const circuit = await readCircuit(t)
		assert.deepEqual([circuit.state, circuit.reason, circuit.failedProbes], ['closed', 'retry-after', 0])
		assertNear(circuit.pausedForMs, HOUR, 'pausedForMs')
		assert.deepEqual(await t.claimIds(), [])
		await t.advance(HOUR + 1)
		assert.deepEqual(await t.claimIds(), [id])
	},

	'a shorter pause does not replace a longer one': async (t) => {
		await t.store.pause('a', 3 * HOUR, 'retry-after')
		await t.store.pause('a', HOUR, 'retry-after')
		assertNear((await readCircuit(t)).pausedForMs, 3 * HOUR, 'pausedForMs')
		await t.store.pause('a', 5 * HOUR, 'retry-after')
		assertNear((await readCircuit(t)).pausedForMs, 5 * HOUR, 'pausedForMs')
	},

	'a pause does not change the state of an open circuit, nor shorten its time': async (t) => {
		await changeTo(t, { pausedForMs: 3 * HOUR, failedProbes: 4, delayMs: 77_000 })
		await t.store.pause('a', HOUR, 'retry-after')
		const short = await readCircuit(t)
		assert.deepEqual([short.state, short.failedProbes, short.delayMs], ['open', 4, 77_000])
		assertNear(short.pausedForMs, 3 * HOUR, 'pausedForMs')
		await t.store.pause('a', 9 * HOUR, 'retry-after')
		const long = await readCircuit(t)
		assert.deepEqual([long.state, long.failedProbes], ['open', 4])
		assertNear(long.pausedForMs, 9 * HOUR, 'pausedForMs')
	},

	'closedAgoMs is null for a circuit that was never blocked': async (t) => {
		const { circuit } = await t.store.changeCircuit({
			destination: 'a',
			version: 0,
			state: 'closed',
			pausedForMs: 0,
			reason: null,
			failedProbes: 0,
			delayMs: 0,
		})
		assert.equal(circuit.closedAgoMs, null)
	},

	'closedAgoMs counts from the end of an outage': async (t) => {
		await changeTo(t, {})
		await t.advance(2 * HOUR)
		const closed = await changeTo(t, { state: 'closed', pausedForMs: 0, reason: null })
		assertNear(closed.closedAgoMs, 0, 'closedAgoMs')
		await t.advance(3 * HOUR)
		assertNear((await readCircuit(t)).closedAgoMs, 3 * HOUR, 'closedAgoMs')
		assertNear((await t.claimTargets([target()])).circuits[0]?.closedAgoMs, 3 * HOUR, 'closedAgoMs')
	},

	'closedAgoMs counts from the end of a pause and is never negative': async (t) => {
		await t.store.pause('a', HOUR, 'retry-after')
		const during = await readCircuit(t)
		assert.ok(during.closedAgoMs === null || during.closedAgoMs >= 0)
		await t.advance(3 * HOUR)
		assertNear((await readCircuit(t)).closedAgoMs, 2 * HOUR, 'closedAgoMs')
	},
}

const change = (part: Partial<CircuitChange>): CircuitChange => ({
	destination: 'a',
	version: 0,
	state: 'open',
	pausedForMs: HOUR,
	reason: 'circuit-open',
	failedProbes: 0,
	delayMs: 1_000,
	...part,
})

export const circuitChanges: CaseTable = {
	'the first change creates the circuit and returns it': async ({ store }) => {
		const { isApplied, circuit } = await store.changeCircuit(change({ failedProbes: 3, delayMs: 1_500 }))
		assert.equal(isApplied, true)
		assert.ok(circuit.version > 0)
		assert.deepEqual(
			[circuit.destination, circuit.state, circuit.reason, circuit.failedProbes, circuit.delayMs],
			['a', 'open', 'circuit-open', 3, 1_500],
		)
		assertNear(circuit.pausedForMs, HOUR, 'pausedForMs')
	},

	'a change replaces all fields, including a longer time by a shorter one': async ({ store }) => {
		const first = await store.changeCircuit(change({ pausedForMs: 9 * HOUR, failedProbes: 3 }))
		const { isApplied, circuit } = await store.changeCircuit(
			change({
				version: first.circuit.version,
				state: 'half-open',
				pausedForMs: HOUR,
				reason: 'probe',
				failedProbes: 4,
				delayMs: 0,
			}),
		)
		assert.equal(isApplied, true)
		assert.deepEqual(
			[circuit.state, circuit.reason, circuit.failedProbes, circuit.delayMs],
			['half-open', 'probe', 4, 0],
		)
		assertNear(circuit.pausedForMs, HOUR, 'pausedForMs')
		const [read] = await store.circuits(['a'])
		assert.deepEqual([read?.state, read?.version], ['half-open', circuit.version])
	},

	'a change can remove the reason': async ({ store }) => {
		const { circuit } = await store.changeCircuit(change({}))
		const closed = await store.changeCircuit(
			change({ version: circuit.version, state: 'closed', pausedForMs: 0, reason: null }),
		)
		assert.equal(closed.circuit.reason, null)
	},

	'every change increments the version, including a pause': async ({ store }) => {
		const versions = [0]
		const read = async (): Promise<number> =>
			required((await store.circuits(['a']))[0], 'the circuit').version
		await store.pause('a', HOUR, 'retry-after')
		versions.push(await read())
		await store.pause('a', 2 * HOUR, 'retry-after')
		versions.push(await read())
		await store.changeCircuit(change({ version: await read() }))
		versions.push(await read())
		await store.changeCircuit(change({ version: await read(), state: 'closed', pausedForMs: 0 }))
		versions.push(await read())
		assert.deepEqual(
			versions,
			[...new Set(versions)].sort((x, y) => x - y),
		)
	},

	'rejects a change based on another version and returns the current circuit': async ({ store }) => {
		const first = await store.changeCircuit(change({}))
		const second = await store.changeCircuit(change({ version: first.circuit.version, state: 'half-open' }))
		for (const version of [0, first.circuit.version, second.circuit.version + 1]) {
			const { isApplied, circuit } = await store.changeCircuit(
				change({ version, state: 'closed', pausedForMs: 0, reason: null }),
			)
			assert.equal(isApplied, false)
			assert.deepEqual([circuit.state, circuit.version], ['half-open', second.circuit.version])
		}
		assert.equal((await store.circuits(['a']))[0]?.state, 'half-open')
	},

	'rejects a change that missed a pause': async ({ store }) => {
		const { circuit } = await store.changeCircuit(change({}))
		await store.pause('a', 9 * HOUR, 'retry-after')
		const late = await store.changeCircuit(
			change({ version: circuit.version, state: 'closed', pausedForMs: 0 }),
		)
		assert.equal(late.isApplied, false)
		assertNear(late.circuit.pausedForMs, 9 * HOUR, 'pausedForMs')
	},

	'rejects a first change if a circuit exists': async ({ store }) => {
		await store.pause('a', HOUR, 'retry-after')
		const late = await store.changeCircuit(change({ version: 0 }))
		assert.equal(late.isApplied, false)
		assert.equal(late.circuit.state, 'closed')
	},

	'applies one of several concurrent changes': async (t) => {
		const other = await t.other()
		let version = 0
		for (let round = 0; round < 5; round++) {
			const results = await Promise.all(
				[t.store, other, t.store, other].map((store, n) =>
					store.changeCircuit(change({ version, failedProbes: 10 * round + n })),
				),
			)
			const made = results.filter((result) => result.isApplied)
			assert.equal(made.length, 1)
			const [circuit] = await t.store.circuits(['a'])
			assert.equal(circuit?.failedProbes, made[0]?.circuit.failedProbes)
			version = required(circuit, 'the circuit').version
		}
	},

	'a second store sees the same circuit': async (t) => {
		const other = await t.other()
		await t.store.changeCircuit(change({ failedProbes: 5 }))
		const [circuit] = await other.circuits(['a'])
		assert.deepEqual([circuit?.state, circuit?.failedProbes], ['open', 5])
	},

	'accepts fractional times': async ({ store }) => {
		const { isApplied, circuit } = await store.changeCircuit(
			change({ pausedForMs: HOUR + 0.75, delayMs: 1_234.5 }),
		)
		assert.equal(isApplied, true)
		assert.ok(Math.abs(circuit.delayMs - 1_234.5) <= 1)
		await store.pause('a', 2 * HOUR + 0.5, 'retry-after')
		assertNear((await store.circuits(['a']))[0]?.pausedForMs, 2 * HOUR, 'pausedForMs')
	},
}
