/** A destination in trouble is left alone by all relays, and the messages burn no attempt meanwhile. */
import assert from 'node:assert/strict'
import type { CircuitChange, DestinationCircuit } from '../../store/rows.ts'
import {
	type CaseTable,
	HOUR,
	idsOf,
	MINUTE,
	near,
	type StoreHarness,
	target,
	the,
} from '../harness/harness.ts'

const turn = async (trial: StoreHarness, change: Partial<CircuitChange>): Promise<DestinationCircuit> => {
	const destination = change.destination ?? 'a'
	const version = (await trial.store.circuits([destination]))[0]?.version ?? 0
	const { isApplied, circuit } = await trial.store.changeCircuit({
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

const gateOf = async (trial: StoreHarness, destination = 'a'): Promise<DestinationCircuit> =>
	the((await trial.store.circuits([destination]))[0], 'the circuit')

export const gates: CaseTable = {
	'there is no circuit until the first trouble': async (trial) => {
		await trial.enqueueOne()
		assert.deepEqual(await trial.store.circuits(['a', 'b']), [])
		assert.deepEqual(await trial.store.circuits([]), [])
		assert.deepEqual((await trial.claimTargets([target()])).circuits, [])
	},

	'an open circuit gives no messages, and the claim says why': async (trial) => {
		const id = await trial.enqueueOne()
		const circuit = await turn(trial, { failedProbes: 2, delayMs: 2_000 })
		const claimed = await trial.claimTargets([target()])
		assert.deepEqual(claimed.rows, [])
		assert.equal(claimed.circuits.length, 1)
		const told = the(claimed.circuits[0], 'the circuit')
		assert.deepEqual(
			[told.destination, told.state, told.reason, told.failedProbes, told.delayMs, told.version],
			['a', 'open', 'circuit-open', 2, 2_000, circuit.version],
		)
		near(told.pausedForMs, HOUR, 'pausedForMs')
		assert.equal((await trial.find(id)).attempts, 0)
	},

	'a probe goes through a circuit that is shut': async (trial) => {
		const id = await trial.enqueueOne()
		await turn(trial, {})
		assert.deepEqual(await trial.claimIds({ isProbe: true, limit: 1 }), [id])
	},

	'a probe goes through a hold, through an open and through a half-open circuit': async (trial) => {
		const ids = await trial.enqueue({}, {}, {})
		await trial.store.pause('a', HOUR, 'retry-after')
		assert.deepEqual(await trial.claimIds({ isProbe: true, limit: 1 }), ids.slice(0, 1))
		await turn(trial, { state: 'open', pausedForMs: 0 })
		assert.deepEqual(await trial.claimIds({ isProbe: true, limit: 1 }), ids.slice(1, 2))
		await turn(trial, { state: 'half-open', pausedForMs: HOUR, reason: 'probe' })
		assert.deepEqual(await trial.claimIds({ isProbe: true, limit: 1 }), ids.slice(2))
	},

	'a circuit that is not closed lets nobody but probes through, though its time is over': async (trial) => {
		await trial.enqueueOne()
		for (const state of ['open', 'half-open'] as const) {
			await turn(trial, { state, pausedForMs: HOUR })
			await trial.advance(2 * HOUR)
			const claimed = await trial.claimTargets([target()])
			assert.deepEqual(claimed.rows, [])
			assert.deepEqual(
				claimed.circuits.map((circuit) => [circuit.state, circuit.pausedForMs]),
				[[state, 0]],
			)
		}
	},

	'a closed circuit lets everybody through and is told all the same': async (trial) => {
		const id = await trial.enqueueOne()
		await turn(trial, {})
		await turn(trial, { state: 'closed', pausedForMs: 0, reason: null })
		const claimed = await trial.claimTargets([target()])
		assert.deepEqual(idsOf(claimed.rows), [id])
		assert.deepEqual(
			claimed.circuits.map((circuit) => [circuit.state, circuit.pausedForMs]),
			[['closed', 0]],
		)
	},

	'a closed circuit that is held gives nothing until the time is over': async (trial) => {
		const id = await trial.enqueueOne()
		await turn(trial, { state: 'closed', pausedForMs: HOUR, reason: 'retry-after' })
		assert.deepEqual(await trial.claimIds(), [])
		await trial.advance(HOUR + 1)
		assert.deepEqual(await trial.claimIds(), [id])
	},

	'a circuit concerns its own destination alone': async (trial) => {
		await trial.enqueueOne()
		const id = await trial.enqueueOne({ destination: 'b' })
		await turn(trial, {})
		const claimed = await trial.claimTargets([target({ destination: 'a' }), target({ destination: 'b' })])
		assert.deepEqual(idsOf(claimed.rows), [id])
		assert.deepEqual(
			claimed.circuits.map((circuit) => circuit.destination),
			['a'],
		)
	},

	'a shut circuit is shut to claims of suspects as well': async (trial) => {
		await trial.enqueueOne()
		await trial.claimOne({ leaseMs: MINUTE })
		await trial.advance(HOUR)
		await turn(trial, {})
		assert.deepEqual(await trial.claimIds({ poisonCandidates: true, poisonAfter: 1 }), [])
	},

	'only the gates that were asked for are told, each once': async (trial) => {
		for (const destination of ['a', 'b', 'c']) await turn(trial, { destination })
		const told = await trial.store.circuits(['c', 'a', 'x'])
		assert.deepEqual(told.map((circuit) => circuit.destination).sort(), ['a', 'c'])
	},

	'the time that a circuit is held goes down to 0 and no further': async (trial) => {
		await turn(trial, { pausedForMs: 2 * HOUR })
		await trial.advance(HOUR)
		near((await gateOf(trial)).pausedForMs, HOUR, 'pausedForMs')
		await trial.advance(5 * HOUR)
		assert.equal((await gateOf(trial)).pausedForMs, 0)
	},

	'a hold keeps everybody off for its time and leaves the state closed': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.store.pause('a', HOUR, 'retry-after')
		const circuit = await gateOf(trial)
		assert.deepEqual([circuit.state, circuit.reason, circuit.failedProbes], ['closed', 'retry-after', 0])
		near(circuit.pausedForMs, HOUR, 'pausedForMs')
		assert.deepEqual(await trial.claimIds(), [])
		await trial.advance(HOUR + 1)
		assert.deepEqual(await trial.claimIds(), [id])
	},

	'a hold is never shortened by another': async (trial) => {
		await trial.store.pause('a', 3 * HOUR, 'retry-after')
		await trial.store.pause('a', HOUR, 'retry-after')
		near((await gateOf(trial)).pausedForMs, 3 * HOUR, 'pausedForMs')
		await trial.store.pause('a', 5 * HOUR, 'retry-after')
		near((await gateOf(trial)).pausedForMs, 5 * HOUR, 'pausedForMs')
	},

	'a hold leaves the state of an open circuit alone, and never shortens its time': async (trial) => {
		await turn(trial, { pausedForMs: 3 * HOUR, failedProbes: 4, delayMs: 77_000 })
		await trial.store.pause('a', HOUR, 'retry-after')
		const short = await gateOf(trial)
		assert.deepEqual([short.state, short.failedProbes, short.delayMs], ['open', 4, 77_000])
		near(short.pausedForMs, 3 * HOUR, 'pausedForMs')
		await trial.store.pause('a', 9 * HOUR, 'retry-after')
		const long = await gateOf(trial)
		assert.deepEqual([long.state, long.failedProbes], ['open', 4])
		near(long.pausedForMs, 9 * HOUR, 'pausedForMs')
	},

	'a circuit that was never shut was never let through again': async (trial) => {
		const { circuit } = await trial.store.changeCircuit({
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

	'after an outage it is told how long ago the circuit was let through again': async (trial) => {
		await turn(trial, {})
		await trial.advance(2 * HOUR)
		const closed = await turn(trial, { state: 'closed', pausedForMs: 0, reason: null })
		near(closed.closedAgoMs, 0, 'closedAgoMs')
		await trial.advance(3 * HOUR)
		near((await gateOf(trial)).closedAgoMs, 3 * HOUR, 'closedAgoMs')
		near((await trial.claimTargets([target()])).circuits[0]?.closedAgoMs, 3 * HOUR, 'closedAgoMs')
	},

	'after a hold it is told how long ago it ended, and never a time below 0': async (trial) => {
		await trial.store.pause('a', HOUR, 'retry-after')
		const during = await gateOf(trial)
		assert.ok(during.closedAgoMs === null || during.closedAgoMs >= 0)
		await trial.advance(3 * HOUR)
		near((await gateOf(trial)).closedAgoMs, 2 * HOUR, 'closedAgoMs')
	},
}
