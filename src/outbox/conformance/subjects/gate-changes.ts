/** A gate is changed by who has seen it last; of two that have seen the same, one is too late. */
import assert from 'node:assert/strict'
import type { GateChange } from '../../store/rows.ts'
import { HOUR, near, type Subject, the } from '../trial.ts'

const change = (part: Partial<GateChange>): GateChange => ({
	destination: 'a',
	version: 0,
	state: 'open',
	heldForMs: HOUR,
	reason: 'circuit-open',
	reopenings: 0,
	delayMs: 1_000,
	...part,
})

export const gateChanges: Subject = {
	'the first change makes the gate and answers it': async ({ store }) => {
		const { isDone, gate } = await store.turnGate(change({ reopenings: 3, delayMs: 1_500 }))
		assert.equal(isDone, true)
		assert.ok(gate.version > 0)
		assert.deepEqual(
			[gate.destination, gate.state, gate.reason, gate.reopenings, gate.delayMs],
			['a', 'open', 'circuit-open', 3, 1_500],
		)
		near(gate.heldForMs, HOUR, 'heldForMs')
	},

	'a change replaces everything, a longer time by a shorter one too': async ({ store }) => {
		const first = await store.turnGate(change({ heldForMs: 9 * HOUR, reopenings: 3 }))
		const { isDone, gate } = await store.turnGate(
			change({
				version: first.gate.version,
				state: 'half-open',
				heldForMs: HOUR,
				reason: 'probe',
				reopenings: 4,
				delayMs: 0,
			}),
		)
		assert.equal(isDone, true)
		assert.deepEqual([gate.state, gate.reason, gate.reopenings, gate.delayMs], ['half-open', 'probe', 4, 0])
		near(gate.heldForMs, HOUR, 'heldForMs')
		const [read] = await store.gates(['a'])
		assert.deepEqual([read?.state, read?.version], ['half-open', gate.version])
	},

	'a reason may be taken away': async ({ store }) => {
		const { gate } = await store.turnGate(change({}))
		const closed = await store.turnGate(
			change({ version: gate.version, state: 'closed', heldForMs: 0, reason: null }),
		)
		assert.equal(closed.gate.reason, null)
	},

	'the version goes up with every change, a hold included': async ({ store }) => {
		const versions = [0]
		const read = async (): Promise<number> => the((await store.gates(['a']))[0], 'the gate').version
		await store.hold('a', HOUR, 'retry-after')
		versions.push(await read())
		await store.hold('a', 2 * HOUR, 'retry-after')
		versions.push(await read())
		await store.turnGate(change({ version: await read() }))
		versions.push(await read())
		await store.turnGate(change({ version: await read(), state: 'closed', heldForMs: 0 }))
		versions.push(await read())
		assert.deepEqual(
			versions,
			[...new Set(versions)].sort((x, y) => x - y),
		)
	},

	'with another version in the store nothing happens, and the gate is answered as it is': async ({
		store,
	}) => {
		const first = await store.turnGate(change({}))
		const second = await store.turnGate(change({ version: first.gate.version, state: 'half-open' }))
		for (const version of [0, first.gate.version, second.gate.version + 1]) {
			const { isDone, gate } = await store.turnGate(
				change({ version, state: 'closed', heldForMs: 0, reason: null }),
			)
			assert.equal(isDone, false)
			assert.deepEqual([gate.state, gate.version], ['half-open', second.gate.version])
		}
		assert.equal((await store.gates(['a']))[0]?.state, 'half-open')
	},

	'who has not seen a hold is too late': async ({ store }) => {
		const { gate } = await store.turnGate(change({}))
		await store.hold('a', 9 * HOUR, 'retry-after')
		const late = await store.turnGate(change({ version: gate.version, state: 'closed', heldForMs: 0 }))
		assert.equal(late.isDone, false)
		near(late.gate.heldForMs, 9 * HOUR, 'heldForMs')
	},

	'who has not seen that there is a gate by now is too late': async ({ store }) => {
		await store.hold('a', HOUR, 'retry-after')
		const late = await store.turnGate(change({ version: 0 }))
		assert.equal(late.isDone, false)
		assert.equal(late.gate.state, 'closed')
	},

	'of several changes at the same time one is made': async (trial) => {
		const other = await trial.other()
		let version = 0
		for (let round = 0; round < 5; round++) {
			const answers = await Promise.all(
				[trial.store, other, trial.store, other].map((store, n) =>
					store.turnGate(change({ version, reopenings: 10 * round + n })),
				),
			)
			const made = answers.filter((answer) => answer.isDone)
			assert.equal(made.length, 1)
			const [gate] = await trial.store.gates(['a'])
			assert.equal(gate?.reopenings, made[0]?.gate.reopenings)
			version = the(gate, 'the gate').version
		}
	},

	'a second store sees the same gate': async (trial) => {
		const other = await trial.other()
		await trial.store.turnGate(change({ reopenings: 5 }))
		const [gate] = await other.gates(['a'])
		assert.deepEqual([gate?.state, gate?.reopenings], ['open', 5])
	},

	'times with fractions of a millisecond are no trouble': async ({ store }) => {
		const { isDone, gate } = await store.turnGate(change({ heldForMs: HOUR + 0.75, delayMs: 1_234.5 }))
		assert.equal(isDone, true)
		assert.ok(Math.abs(gate.delayMs - 1_234.5) <= 1)
		await store.hold('a', 2 * HOUR + 0.5, 'retry-after')
		near((await store.gates(['a']))[0]?.heldForMs, 2 * HOUR, 'heldForMs')
	},
}
