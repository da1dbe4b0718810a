/**
 * Circuits and pauses that all relays share, changes by compare-and-set on their version, pauses by an
 * operator, which relays cannot end, and circuits that an operator closes.
 */
import assert from 'node:assert/strict'
import type { CircuitChange, DestinationCircuit, OperatorChange } from '../../store/rows.ts'
import { assertFields, assertNear, HOUR, idsOf, required, sorted } from '../harness/assertions.ts'
import { type CaseTable, type StoreHarness, target } from '../harness/harness.ts'

const OPEN: CircuitChange = {
	destination: 'a',
	version: 0,
	state: 'open',
	pausedForMs: HOUR,
	reason: 'circuit-open',
	failedProbes: 0,
	delayMs: 1_000,
}
const CLOSED: CircuitChange = { ...OPEN, state: 'closed', pausedForMs: 0, reason: null }

const PROBE = { isProbe: true, limit: 1 }

/** Applies a change to the current version. */
const changeTo = async (t: StoreHarness, change: Partial<CircuitChange>): Promise<DestinationCircuit> => {
	const { destination = 'a' } = change
	const version = (await t.store.circuits([destination]))[0]?.version ?? 0
	const { isApplied, circuit } = await t.store.changeCircuit({ ...OPEN, ...change, version })
	assert.equal(isApplied, true)
	return circuit
}

const readCircuit = async (t: StoreHarness, destination = 'a'): Promise<DestinationCircuit> =>
	required((await t.store.circuits([destination]))[0], 'the circuit')

/** Asserts the remaining time of the pause, and other fields. */
const expectPause = async (
	t: StoreHarness,
	pausedForMs: number,
	fields: Partial<DestinationCircuit> = {},
): Promise<void> => {
	const circuit = await readCircuit(t)
	assertNear(circuit.pausedForMs, pausedForMs, 'pausedForMs')
	assertFields(circuit, fields)
}

const expectClosedAgo = async (t: StoreHarness, ms: number): Promise<void> =>
	assertNear((await readCircuit(t)).closedAgoMs, ms, 'closedAgoMs')

/** Claims from the destination `a`; returns the circuit that the claim returned. */
const claimCircuit = async (t: StoreHarness, ids: readonly string[]): Promise<DestinationCircuit> => {
	const { rows, circuits: found } = await t.claimTargets([target()])
	assert.deepEqual(idsOf(rows), ids)
	assert.equal(found.length, 1)
	return required(found[0], 'the circuit')
}

export const circuits: CaseTable = {
	'returns no circuit before the first failure': async (t) => {
		await t.enqueueOne()
		assert.deepEqual(await t.store.circuits(['a', 'b']), [])
		assert.deepEqual(await t.store.circuits([]), [])
		assert.deepEqual((await t.claimTargets([target()])).circuits, [])
	},

	'an open circuit yields no messages, and the claim returns the circuit': async (t) => {
		const id = await t.enqueueOne()
		const { version } = await changeTo(t, { failedProbes: 2, delayMs: 2_000 })
		const found = await claimCircuit(t, [])
		assertFields(found, { destination: 'a', state: 'open', reason: 'circuit-open', version })
		assertFields(found, { failedProbes: 2, delayMs: 2_000 })
		assertNear(found.pausedForMs, HOUR, 'pausedForMs')
		await t.expectMessage(id, { attempts: 0 })
	},

	'a probe claims while the circuit is open': async (t) => {
		const id = await t.enqueueOne()
		await changeTo(t, {})
		await t.expectClaim([id], PROBE)
	},

	'a probe claims during a pause, an open and a half-open circuit': async (t) => {
		const [first, second, third] = await t.enqueue({}, {}, {})
		await t.store.pause('a', HOUR, 'retry-after')
		await t.expectClaim([first], PROBE)
		await changeTo(t, { state: 'open', pausedForMs: 0 })
		await t.expectClaim([second], PROBE)
		await changeTo(t, { state: 'half-open', pausedForMs: HOUR, reason: 'probe' })
		await t.expectClaim([third], PROBE)
	},

	'a circuit that is not closed admits only probes, even after its time': async (t) => {
		await t.enqueueOne()
		for (const state of ['open', 'half-open'] as const) {
			await changeTo(t, { state, pausedForMs: HOUR })
			await t.advance(2 * HOUR)
			assertFields(await claimCircuit(t, []), { state, pausedForMs: 0 })
		}
	},

	'a closed circuit admits claims and is returned': async (t) => {
		const id = await t.enqueueOne()
		await changeTo(t, {})
		await changeTo(t, CLOSED)
		assertFields(await claimCircuit(t, [id]), { state: 'closed', pausedForMs: 0 })
	},

	'a closed circuit yields nothing during a pause': async (t) => {
		const id = await t.enqueueOne()
		await changeTo(t, { state: 'closed', pausedForMs: HOUR, reason: 'retry-after' })
		await t.expectClaim([])
		await t.advance(HOUR + 1)
		await t.expectClaim([id])
	},

	'a circuit affects only its own destination': async (t) => {
		const [, id] = await t.enqueue({}, { destination: 'b' })
		await changeTo(t, {})
		const claimed = await t.claimTargets([target({ destination: 'a' }), target({ destination: 'b' })])
		assert.deepEqual(idsOf(claimed.rows), [id])
		assert.equal(claimed.circuits.length, 1)
		assert.equal(claimed.circuits[0]?.destination, 'a')
	},

	'an open circuit rejects claims of poison candidates': async (t) => {
		await t.enqueueOne()
		await t.crash()
		await changeTo(t, {})
		await t.expectClaim([], { poisonCandidates: true, poisonAfter: 1 })
	},

	'returns only requested circuits, each once': async (t) => {
		for (const destination of ['a', 'b', 'c']) await changeTo(t, { destination })
		const found = await t.store.circuits(['c', 'a', 'x'])
		assert.deepEqual(sorted(found.map(({ destination }) => destination)), ['a', 'c'])
	},

	'pausedForMs decreases to 0 and not below': async (t) => {
		await changeTo(t, { pausedForMs: 2 * HOUR })
		await t.advance(HOUR)
		await expectPause(t, HOUR)
		await t.advance(5 * HOUR)
		await expectPause(t, 0, { pausedForMs: 0 })
	},

	'a pause blocks claims for its time and leaves the state closed': async (t) => {
		const id = await t.enqueueOne()
		await t.store.pause('a', HOUR, 'retry-after')
		await expectPause(t, HOUR, { state: 'closed', reason: 'retry-after', failedProbes: 0 })
		await t.expectClaim([])
		await t.advance(HOUR + 1)
		await t.expectClaim([id])
	},

	'a shorter pause does not replace a longer one': async (t) => {
		await t.store.pause('a', 3 * HOUR, 'retry-after')
		await t.store.pause('a', HOUR, 'retry-after')
		await expectPause(t, 3 * HOUR)
		await t.store.pause('a', 5 * HOUR, 'retry-after')
		await expectPause(t, 5 * HOUR)
	},

	'a pause does not change the state of an open circuit, nor shorten its time': async (t) => {
		const fields = { state: 'open', failedProbes: 4, delayMs: 77_000 } as const
		await changeTo(t, { ...fields, pausedForMs: 3 * HOUR })
		await t.store.pause('a', HOUR, 'retry-after')
		await expectPause(t, 3 * HOUR, fields)
		await t.store.pause('a', 9 * HOUR, 'retry-after')
		await expectPause(t, 9 * HOUR, fields)
	},

	'closedAgoMs is null for a circuit that was never blocked': async (t) =>
		assertFields(await changeTo(t, CLOSED), { closedAgoMs: null }),

	'closedAgoMs counts from the end of an outage': async (t) => {
		await changeTo(t, {})
		await t.advance(2 * HOUR)
		assertNear((await changeTo(t, CLOSED)).closedAgoMs, 0, 'closedAgoMs')
		await t.advance(3 * HOUR)
		await expectClosedAgo(t, 3 * HOUR)
		assertNear((await claimCircuit(t, [])).closedAgoMs, 3 * HOUR, 'closedAgoMs')
	},

	'closedAgoMs counts from the end of a pause and is never negative': async (t) => {
		await t.store.pause('a', HOUR, 'retry-after')
		const during = await readCircuit(t)
		assert.ok(during.closedAgoMs === null || during.closedAgoMs >= 0)
		await t.advance(3 * HOUR)
		await expectClosedAgo(t, 2 * HOUR)
	},
}

/** Asserts that the change is not applied; returns the current circuit. */
const expectRejected = async (t: StoreHarness, change: CircuitChange): Promise<DestinationCircuit> => {
	const { isApplied, circuit } = await t.store.changeCircuit(change)
	assert.equal(isApplied, false)
	return circuit
}

export const circuitChanges: CaseTable = {
	'the first change creates the circuit and returns it': async (t) => {
		const circuit = await changeTo(t, { failedProbes: 3, delayMs: 1_500 })
		assert.ok(circuit.version > 0)
		assertFields(circuit, { destination: 'a', state: 'open', reason: 'circuit-open' })
		assertFields(circuit, { failedProbes: 3, delayMs: 1_500 })
		assertNear(circuit.pausedForMs, HOUR, 'pausedForMs')
	},

	'a change replaces all fields, including a longer time by a shorter one': async (t) => {
		await changeTo(t, { pausedForMs: 9 * HOUR, failedProbes: 3 })
		const fields = { state: 'half-open', reason: 'probe', failedProbes: 4, delayMs: 0 } as const
		const circuit = await changeTo(t, { ...fields, pausedForMs: HOUR })
		assertFields(circuit, fields)
		assertNear(circuit.pausedForMs, HOUR, 'pausedForMs')
		assertFields(await readCircuit(t), { state: 'half-open', version: circuit.version })
	},

	'a change can remove the reason': async (t) => {
		await changeTo(t, {})
		assertFields(await changeTo(t, CLOSED), { reason: null })
	},

	'every change increments the version, including a pause': async (t) => {
		let version = 0
		for (const change of [
			() => t.store.pause('a', HOUR, 'retry-after'),
			() => t.store.pause('a', 2 * HOUR, 'retry-after'),
			() => changeTo(t, {}),
			() => changeTo(t, { state: 'closed', pausedForMs: 0 }),
		]) {
			await change()
			const circuit = await readCircuit(t)
			assert.ok(circuit.version > version)
			version = circuit.version
		}
	},

	'rejects a change based on another version and returns the current circuit': async (t) => {
		const first = await changeTo(t, {})
		const { version: latest } = await changeTo(t, { state: 'half-open' })
		for (const version of [0, first.version, latest + 1])
			assertFields(await expectRejected(t, { ...CLOSED, version }), { state: 'half-open', version: latest })
		assertFields(await readCircuit(t), { state: 'half-open' })
	},

	'rejects a change that missed a pause': async (t) => {
		const { version } = await changeTo(t, {})
		await t.store.pause('a', 9 * HOUR, 'retry-after')
		const current = await expectRejected(t, { ...CLOSED, version })
		assertNear(current.pausedForMs, 9 * HOUR, 'pausedForMs')
	},

	'rejects a first change if a circuit exists': async (t) => {
		await t.store.pause('a', HOUR, 'retry-after')
		assertFields(await expectRejected(t, OPEN), { state: 'closed' })
	},

	'applies one of several concurrent changes': async (t) => {
		let version = 0
		for (let round = 0; round < 5; round++) {
			const results = await t.concurrently(4, (store, n) =>
				store.changeCircuit({ ...OPEN, version, failedProbes: 10 * round + n }),
			)
			const made = results.filter((result) => result.isApplied)
			assert.equal(made.length, 1)
			const circuit = await readCircuit(t)
			assert.equal(circuit.failedProbes, made[0]?.circuit.failedProbes)
			version = circuit.version
		}
	},

	'a second store sees the same circuit': async (t) => {
		const other = await t.other()
		await changeTo(t, { failedProbes: 5 })
		const [circuit] = await other.circuits(['a'])
		assert.deepEqual([circuit?.state, circuit?.failedProbes], ['open', 5])
	},

	'accepts fractional times': async (t) => {
		const circuit = await changeTo(t, { pausedForMs: HOUR + 0.75, delayMs: 1_234.5 })
		assert.ok(Math.abs(circuit.delayMs - 1_234.5) <= 1)
		await t.store.pause('a', 2 * HOUR + 0.5, 'retry-after')
		await expectPause(t, 2 * HOUR)
	},
}

const ADA = { destination: 'a', by: 'ada@ops', reason: 'deploy' }
const PAUSE: OperatorChange = { ...ADA, action: 'pause', forMs: Infinity }
const RESUME: OperatorChange = { ...ADA, action: 'resume' }
const CLOSE: OperatorChange = { ...ADA, action: 'close-circuit' }

/** Opens the circuit after two failed probes. */
const open = (t: StoreHarness) => changeTo(t, { failedProbes: 2 })

const expectChange = async (
	t: StoreHarness,
	change: OperatorChange,
	isChanged = true,
): Promise<DestinationCircuit> => {
	const result = await t.store.changeByOperator(change)
	assert.equal(result.isChanged, isChanged)
	return result.circuit
}

export const operatorChanges: CaseTable = {
	'a pause without an end yields no messages, and says who, why and since when': async (t) => {
		const id = await t.enqueueOne()
		const now = await t.now()
		await expectChange(t, PAUSE)
		for (let round = 0; round < 3; round++) {
			const { rows, circuits } = await t.claimTargets([target()])
			assert.equal(rows.length, 0)
			assertFields(required(circuits[0], 'the circuit'), {
				state: 'closed',
				reason: 'operator',
				pausedForMs: Infinity,
			})
			await t.advance(10_000 * HOUR)
		}
		const { operatorPause } = await readCircuit(t)
		assertFields(required(operatorPause, 'the pause'), {
			by: 'ada@ops',
			reason: 'deploy',
			pausedForMs: Infinity,
		})
		assertNear(operatorPause?.pausedAt, now, 'pausedAt')
		await t.expectMessage(id, { attempts: 0 })
	},

	'a pause with an end yields messages after it': async (t) => {
		const id = await t.enqueueOne()
		await expectChange(t, { ...PAUSE, forMs: HOUR })
		assertNear((await readCircuit(t)).pausedForMs, HOUR, 'pausedForMs')
		await t.expectClaim([])
		await t.advance(2 * HOUR)
		assertFields(await readCircuit(t), { pausedForMs: 0, reason: null, operatorPause: null })
		assertNear((await readCircuit(t)).closedAgoMs, HOUR, 'closedAgoMs')
		await t.expectClaim([id])
	},

	'a pause yields nothing to a probe and no poison candidates': async (t) => {
		await t.enqueueOne()
		await t.crash()
		await t.store.changeCircuit({ ...OPEN, pausedForMs: 0 })
		await expectChange(t, PAUSE)
		await t.expectClaim([], PROBE)
		await t.expectClaim([], { ...PROBE, poisonCandidates: true, poisonAfter: 1 })
	},

	'changes and pauses of relays do not end a pause': async (t) => {
		await t.enqueueOne()
		await expectChange(t, PAUSE)
		for (const state of ['open', 'half-open', 'closed'] as const) {
			const { version } = await readCircuit(t)
			const change = { ...OPEN, state, pausedForMs: 0, reason: null, version }
			const { isApplied, circuit } = await t.store.changeCircuit(change)
			assert.equal(isApplied, true)
			assertFields(circuit, { state, reason: 'operator', pausedForMs: Infinity })
			await t.expectClaim([])
			await t.expectClaim([], PROBE)
		}
		await t.store.pause('a', HOUR, 'retry-after')
		await t.advance(2 * HOUR)
		assertFields(await readCircuit(t), { reason: 'operator', pausedForMs: Infinity })
		await t.expectClaim([])
	},

	'rejects a change of a relay that missed a pause or its end': async (t) => {
		const { version } = await expectChange(t, PAUSE)
		const resumed = await expectChange(t, RESUME)
		assert.ok(resumed.version > version)
		for (const missed of [0, version])
			assert.equal((await t.store.changeCircuit({ ...OPEN, version: missed })).isApplied, false)
	},

	'a second pause replaces the first, even by a shorter one': async (t) => {
		await expectChange(t, PAUSE)
		await expectChange(t, { ...PAUSE, by: 'bob@ops', reason: null, forMs: HOUR })
		const { operatorPause } = await readCircuit(t)
		assertFields(required(operatorPause, 'the pause'), { by: 'bob@ops', reason: null })
		assertNear(operatorPause?.pausedForMs, HOUR, 'pausedForMs')
	},

	'resume ends a pause and starts a ramp-up': async (t) => {
		const id = await t.enqueueOne()
		await expectChange(t, PAUSE)
		await t.advance(HOUR)
		const circuit = await expectChange(t, RESUME)
		assertFields(circuit, { state: 'closed', pausedForMs: 0, reason: null, operatorPause: null })
		assertNear(circuit.closedAgoMs, 0, 'closedAgoMs')
		await t.expectClaim([id])
	},

	'resume leaves an open circuit and a Retry-After as they are': async (t) => {
		await open(t)
		await t.store.pause('a', 3 * HOUR, 'retry-after')
		await expectChange(t, PAUSE)
		const circuit = await expectChange(t, RESUME)
		assertFields(circuit, { state: 'open', reason: 'retry-after', failedProbes: 2 })
		assertNear(circuit.pausedForMs, 3 * HOUR, 'pausedForMs')
	},

	'resume changes nothing without a pause': async (t) => {
		await expectChange(t, RESUME, false)
		assert.deepEqual(await t.store.circuits(['a']), [])
		await expectChange(t, { ...PAUSE, forMs: HOUR })
		await t.advance(2 * HOUR)
		await expectChange(t, RESUME, false)
	},

	'close-circuit closes an open circuit and ends a Retry-After': async (t) => {
		const id = await t.enqueueOne()
		await open(t)
		const circuit = await expectChange(t, CLOSE)
		assertFields(circuit, { state: 'closed', pausedForMs: 0, reason: null, failedProbes: 0, delayMs: 0 })
		assertNear(circuit.closedAgoMs, 0, 'closedAgoMs')
		await t.expectClaim([id])
		const next = await t.enqueueOne()
		await t.store.pause('a', HOUR, 'retry-after')
		await expectChange(t, CLOSE)
		await t.expectClaim([next])
	},

	'close-circuit changes nothing for a closed circuit': async (t) => {
		await expectChange(t, CLOSE, false)
		await open(t)
		await expectChange(t, CLOSE)
		await expectChange(t, CLOSE, false)
	},

	'close-circuit does not end a pause': async (t) => {
		await t.enqueueOne()
		await open(t)
		await expectChange(t, PAUSE)
		assertFields(await expectChange(t, CLOSE), { state: 'closed', reason: 'operator' })
		await t.expectClaim([])
	},

	'lists destinations that an operator has paused, by name': async (t) => {
		assert.deepEqual(await t.store.operatorPauses(10), [])
		for (const destination of ['c', 'b', 'd']) await expectChange(t, { ...PAUSE, destination })
		await expectChange(t, { ...PAUSE, forMs: HOUR })
		await expectChange(t, { ...RESUME, destination: 'd' })
		await t.store.pause('x', HOUR, 'retry-after')
		const names = async (limit: number) =>
			(await t.store.operatorPauses(limit)).map(({ destination }) => destination)
		assert.deepEqual(await names(10), ['a', 'b', 'c'])
		assert.deepEqual(await names(2), ['a', 'b'])
		await t.advance(2 * HOUR)
		assert.deepEqual(await names(10), ['b', 'c'])
	},

	'tokens and permits do not change a pause': async (t) => {
		const rate = { limit: 1, intervalMs: HOUR, burst: 1 }
		await t.store.acquireTokens('a', 1, rate)
		await expectChange(t, PAUSE)
		await t.store.acquireTokens('a', 1, rate)
		await t.store.returnTokens('a', 1, rate)
		assertFields(await readCircuit(t), { pausedForMs: Infinity })
	},
}
