/** A destination in trouble is left alone by all relays, and the messages burn no attempt meanwhile. */
import assert from 'node:assert/strict'
import type { Gate, GateChange } from '../../store/rows.ts'
import { HOUR, idsOf, lane, MINUTE, near, type Subject, type Trial, the } from '../trial.ts'

const turn = async (trial: Trial, change: Partial<GateChange>): Promise<Gate> => {
	const destination = change.destination ?? 'a'
	const version = (await trial.store.gates([destination]))[0]?.version ?? 0
	const { isDone, gate } = await trial.store.turnGate({
		destination,
		version,
		state: 'open',
		heldForMs: HOUR,
		reason: 'circuit-open',
		reopenings: 0,
		delayMs: HOUR,
		...change,
	})
	assert.equal(isDone, true)
	return gate
}

const gateOf = async (trial: Trial, destination = 'a'): Promise<Gate> =>
	the((await trial.store.gates([destination]))[0], 'the gate')

export const gates: Subject = {
	'there is no gate until the first trouble': async (trial) => {
		await trial.enqueueOne()
		assert.deepEqual(await trial.store.gates(['a', 'b']), [])
		assert.deepEqual(await trial.store.gates([]), [])
		assert.deepEqual((await trial.claimLanes([lane()])).gates, [])
	},

	'an open gate gives no messages, and the claim says why': async (trial) => {
		const id = await trial.enqueueOne()
		const gate = await turn(trial, { reopenings: 2, delayMs: 2_000 })
		const claimed = await trial.claimLanes([lane()])
		assert.deepEqual(claimed.rows, [])
		assert.equal(claimed.gates.length, 1)
		const told = the(claimed.gates[0], 'the gate')
		assert.deepEqual(
			[told.destination, told.state, told.reason, told.reopenings, told.delayMs, told.version],
			['a', 'open', 'circuit-open', 2, 2_000, gate.version],
		)
		near(told.heldForMs, HOUR, 'heldForMs')
		assert.equal((await trial.find(id)).attempts, 0)
	},

	'a probe goes through a gate that is shut': async (trial) => {
		const id = await trial.enqueueOne()
		await turn(trial, {})
		assert.deepEqual(await trial.claimIds({ isProbe: true, limit: 1 }), [id])
	},

	'a probe goes through a hold, through an open and through a half-open gate': async (trial) => {
		const ids = await trial.enqueue({}, {}, {})
		await trial.store.hold('a', HOUR, 'retry-after')
		assert.deepEqual(await trial.claimIds({ isProbe: true, limit: 1 }), ids.slice(0, 1))
		await turn(trial, { state: 'open', heldForMs: 0 })
		assert.deepEqual(await trial.claimIds({ isProbe: true, limit: 1 }), ids.slice(1, 2))
		await turn(trial, { state: 'half-open', heldForMs: HOUR, reason: 'probe' })
		assert.deepEqual(await trial.claimIds({ isProbe: true, limit: 1 }), ids.slice(2))
	},

	'a gate that is not closed lets nobody but probes through, though its time is over': async (trial) => {
		await trial.enqueueOne()
		for (const state of ['open', 'half-open'] as const) {
			await turn(trial, { state, heldForMs: HOUR })
			await trial.advance(2 * HOUR)
			const claimed = await trial.claimLanes([lane()])
			assert.deepEqual(claimed.rows, [])
			assert.deepEqual(
				claimed.gates.map((gate) => [gate.state, gate.heldForMs]),
				[[state, 0]],
			)
		}
	},

	'a closed gate lets everybody through and is told all the same': async (trial) => {
		const id = await trial.enqueueOne()
		await turn(trial, {})
		await turn(trial, { state: 'closed', heldForMs: 0, reason: null })
		const claimed = await trial.claimLanes([lane()])
		assert.deepEqual(idsOf(claimed.rows), [id])
		assert.deepEqual(
			claimed.gates.map((gate) => [gate.state, gate.heldForMs]),
			[['closed', 0]],
		)
	},

	'a closed gate that is held gives nothing until the time is over': async (trial) => {
		const id = await trial.enqueueOne()
		await turn(trial, { state: 'closed', heldForMs: HOUR, reason: 'retry-after' })
		assert.deepEqual(await trial.claimIds(), [])
		await trial.advance(HOUR + 1)
		assert.deepEqual(await trial.claimIds(), [id])
	},

	'a gate concerns its own destination alone': async (trial) => {
		await trial.enqueueOne()
		const id = await trial.enqueueOne({ destination: 'b' })
		await turn(trial, {})
		const claimed = await trial.claimLanes([lane({ destination: 'a' }), lane({ destination: 'b' })])
		assert.deepEqual(idsOf(claimed.rows), [id])
		assert.deepEqual(
			claimed.gates.map((gate) => gate.destination),
			['a'],
		)
	},

	'a shut gate is shut to claims of suspects as well': async (trial) => {
		await trial.enqueueOne()
		await trial.claimOne({ leaseMs: MINUTE })
		await trial.advance(HOUR)
		await turn(trial, {})
		assert.deepEqual(await trial.claimIds({ suspects: true, suspectAfter: 1 }), [])
	},

	'only the gates that were asked for are told, each once': async (trial) => {
		for (const destination of ['a', 'b', 'c']) await turn(trial, { destination })
		const told = await trial.store.gates(['c', 'a', 'x'])
		assert.deepEqual(told.map((gate) => gate.destination).sort(), ['a', 'c'])
	},

	'the time that a gate is held goes down to 0 and no further': async (trial) => {
		await turn(trial, { heldForMs: 2 * HOUR })
		await trial.advance(HOUR)
		near((await gateOf(trial)).heldForMs, HOUR, 'heldForMs')
		await trial.advance(5 * HOUR)
		assert.equal((await gateOf(trial)).heldForMs, 0)
	},

	'a hold keeps everybody off for its time and leaves the state closed': async (trial) => {
		const id = await trial.enqueueOne()
		await trial.store.hold('a', HOUR, 'retry-after')
		const gate = await gateOf(trial)
		assert.deepEqual([gate.state, gate.reason, gate.reopenings], ['closed', 'retry-after', 0])
		near(gate.heldForMs, HOUR, 'heldForMs')
		assert.deepEqual(await trial.claimIds(), [])
		await trial.advance(HOUR + 1)
		assert.deepEqual(await trial.claimIds(), [id])
	},

	'a hold is never shortened by another': async (trial) => {
		await trial.store.hold('a', 3 * HOUR, 'retry-after')
		await trial.store.hold('a', HOUR, 'retry-after')
		near((await gateOf(trial)).heldForMs, 3 * HOUR, 'heldForMs')
		await trial.store.hold('a', 5 * HOUR, 'retry-after')
		near((await gateOf(trial)).heldForMs, 5 * HOUR, 'heldForMs')
	},

	'a hold leaves the state of an open gate alone, and never shortens its time': async (trial) => {
		await turn(trial, { heldForMs: 3 * HOUR, reopenings: 4, delayMs: 77_000 })
		await trial.store.hold('a', HOUR, 'retry-after')
		const short = await gateOf(trial)
		assert.deepEqual([short.state, short.reopenings, short.delayMs], ['open', 4, 77_000])
		near(short.heldForMs, 3 * HOUR, 'heldForMs')
		await trial.store.hold('a', 9 * HOUR, 'retry-after')
		const long = await gateOf(trial)
		assert.deepEqual([long.state, long.reopenings], ['open', 4])
		near(long.heldForMs, 9 * HOUR, 'heldForMs')
	},

	'a gate that was never shut was never let through again': async (trial) => {
		const { gate } = await trial.store.turnGate({
			destination: 'a',
			version: 0,
			state: 'closed',
			heldForMs: 0,
			reason: null,
			reopenings: 0,
			delayMs: 0,
		})
		assert.equal(gate.openedAgoMs, null)
	},

	'after an outage it is told how long ago the gate was let through again': async (trial) => {
		await turn(trial, {})
		await trial.advance(2 * HOUR)
		const closed = await turn(trial, { state: 'closed', heldForMs: 0, reason: null })
		near(closed.openedAgoMs, 0, 'openedAgoMs')
		await trial.advance(3 * HOUR)
		near((await gateOf(trial)).openedAgoMs, 3 * HOUR, 'openedAgoMs')
		near((await trial.claimLanes([lane()])).gates[0]?.openedAgoMs, 3 * HOUR, 'openedAgoMs')
	},

	'after a hold it is told how long ago it ended, and never a time below 0': async (trial) => {
		await trial.store.hold('a', HOUR, 'retry-after')
		const during = await gateOf(trial)
		assert.ok(during.openedAgoMs === null || during.openedAgoMs >= 0)
		await trial.advance(3 * HOUR)
		near((await gateOf(trial)).openedAgoMs, 2 * HOUR, 'openedAgoMs')
	},
}
