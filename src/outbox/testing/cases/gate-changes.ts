/** A circuit is changed by who has seen it last; of two that have seen the same, one is too late. */
import assert from 'node:assert/strict'
import type { CircuitChange } from '../../store/rows.ts'
import { type CaseTable, HOUR, near, the } from '../harness/harness.ts'

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

export const gateChanges: CaseTable = {
	'the first change makes the circuit and answers it': async ({ store }) => {
		const { isApplied, circuit } = await store.changeCircuit(change({ failedProbes: 3, delayMs: 1_500 }))
		assert.equal(isApplied, true)
		assert.ok(circuit.version > 0)
		assert.deepEqual(
			[circuit.destination, circuit.state, circuit.reason, circuit.failedProbes, circuit.delayMs],
			['a', 'open', 'circuit-open', 3, 1_500],
		)
		near(circuit.pausedForMs, HOUR, 'pausedForMs')
	},

	'a change replaces everything, a longer time by a shorter one too': async ({ store }) => {
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
		near(circuit.pausedForMs, HOUR, 'pausedForMs')
		const [read] = await store.circuits(['a'])
		assert.deepEqual([read?.state, read?.version], ['half-open', circuit.version])
	},

	'a reason may be taken away': async ({ store }) => {
		const { circuit } = await store.changeCircuit(change({}))
		const closed = await store.changeCircuit(
			change({ version: circuit.version, state: 'closed', pausedForMs: 0, reason: null }),
		)
		assert.equal(closed.circuit.reason, null)
	},

	'the version goes up with every change, a hold included': async ({ store }) => {
		const versions = [0]
		const read = async (): Promise<number> => the((await store.circuits(['a']))[0], 'the circuit').version
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

	'with another version in the store nothing happens, and the circuit is answered as it is': async ({
		store,
	}) => {
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

	'who has not seen a hold is too late': async ({ store }) => {
		const { circuit } = await store.changeCircuit(change({}))
		await store.pause('a', 9 * HOUR, 'retry-after')
		const late = await store.changeCircuit(
			change({ version: circuit.version, state: 'closed', pausedForMs: 0 }),
		)
		assert.equal(late.isApplied, false)
		near(late.circuit.pausedForMs, 9 * HOUR, 'pausedForMs')
	},

	'who has not seen that there is a circuit by now is too late': async ({ store }) => {
		await store.pause('a', HOUR, 'retry-after')
		const late = await store.changeCircuit(change({ version: 0 }))
		assert.equal(late.isApplied, false)
		assert.equal(late.circuit.state, 'closed')
	},

	'of several changes at the same time one is made': async (trial) => {
		const other = await trial.other()
		let version = 0
		for (let round = 0; round < 5; round++) {
			const answers = await Promise.all(
				[trial.store, other, trial.store, other].map((store, n) =>
					store.changeCircuit(change({ version, failedProbes: 10 * round + n })),
				),
			)
			const made = answers.filter((answer) => answer.isApplied)
			assert.equal(made.length, 1)
			const [circuit] = await trial.store.circuits(['a'])
			assert.equal(circuit?.failedProbes, made[0]?.circuit.failedProbes)
			version = the(circuit, 'the circuit').version
		}
	},

	'a second store sees the same circuit': async (trial) => {
		const other = await trial.other()
		await trial.store.changeCircuit(change({ failedProbes: 5 }))
		const [circuit] = await other.circuits(['a'])
		assert.deepEqual([circuit?.state, circuit?.failedProbes], ['open', 5])
	},

	'times with fractions of a millisecond are no trouble': async ({ store }) => {
		const { isApplied, circuit } = await store.changeCircuit(
			change({ pausedForMs: HOUR + 0.75, delayMs: 1_234.5 }),
		)
		assert.equal(isApplied, true)
		assert.ok(Math.abs(circuit.delayMs - 1_234.5) <= 1)
		await store.pause('a', 2 * HOUR + 0.5, 'retry-after')
		near((await store.circuits(['a']))[0]?.pausedForMs, 2 * HOUR, 'pausedForMs')
	},
}
