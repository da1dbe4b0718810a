/** Pauses by an operator, which relays cannot end, and circuits that an operator closes. */
import assert from 'node:assert/strict'
import type { CircuitChange, DestinationCircuit, OperatorChange } from '../../../store/rows.ts'
import { assertFields, assertNear, HOUR, required } from '../../harness/assertions.ts'
import { type CaseTable, type StoreHarness, target } from '../../harness/harness.ts'

const ADA = { destination: 'a', by: 'ada@ops', reason: 'deploy' }
const PAUSE: OperatorChange = { ...ADA, action: 'pause', forMs: Infinity }
const RESUME: OperatorChange = { ...ADA, action: 'resume' }
const CLOSE: OperatorChange = { ...ADA, action: 'close-circuit' }

const OPEN: CircuitChange = {
	...{ destination: 'a', version: 0, state: 'open', pausedForMs: HOUR, reason: 'circuit-open' },
	...{ failedProbes: 2, delayMs: 1_000 },
}
const PROBE = { isProbe: true, limit: 1 }

const readCircuit = async (t: StoreHarness): Promise<DestinationCircuit> =>
	required((await t.store.circuits(['a']))[0], 'the circuit')

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
				...{ state: 'closed', reason: 'operator', pausedForMs: Infinity },
			})
			await t.advance(10_000 * HOUR)
		}
		const { operatorPause } = await readCircuit(t)
		assertFields(required(operatorPause, 'the pause'), {
			...{ by: 'ada@ops', reason: 'deploy', pausedForMs: Infinity },
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
		await t.store.changeCircuit(OPEN)
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
		await t.store.changeCircuit(OPEN)
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
		await t.store.changeCircuit(OPEN)
		await expectChange(t, CLOSE)
		await expectChange(t, CLOSE, false)
	},

	'close-circuit does not end a pause': async (t) => {
		await t.enqueueOne()
		await t.store.changeCircuit(OPEN)
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
