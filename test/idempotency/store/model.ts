/** Random operations on a store and on the store in memory, which is the model: both return the same. */
import fc from 'fast-check'
import { expect } from 'vitest'
import type { IdempotencyStore, StoredKey } from '../../../src/idempotency/store/store.ts'
import { RESPONSE } from './requests.ts'

/** Times are multiples of this, so that a case is never at the edge where one clock is a millisecond ahead. */
const UNIT_MS = 60_000
/** Half a unit: no lease ends at the moment of an operation. */
const OFFSET_MS = UNIT_MS / 2

const id = fc.constantFrom('a', 'b')
const token = fc.constantFrom('t1', 't2', 't3')
const duration = fc.integer({ min: 1, max: 4 }).map((units) => units * UNIT_MS + OFFSET_MS)
const response = fc.constantFrom(RESPONSE, { ...RESPONSE, status: 404, body: new Uint8Array(0) }, undefined)

interface Operation {
	readonly name: string
	run(store: IdempotencyStore): unknown
}

const claim = fc
	.record({
		id,
		token,
		fingerprint: fc.constantFrom('f1', 'f1', 'f2'),
		leaseMs: duration,
		retentionMs: duration,
		abandoned: fc.constantFrom('rerun' as const, 'reject' as const),
		endedToken: fc.option(token, { nil: undefined, freq: 4 }),
	})
	.map((request) => ({
		name: `claim ${JSON.stringify(request)}`,
		run: (store: IdempotencyStore) => store.claim(request),
	}))

const written = fc
	.record({ id, token, response, duration, step: fc.constantFrom('charge', '__proto__', '\u0000\ud800') })
	.chain(({ id, token, response, duration, step }) => {
		const ref = { id, token }
		const operations: Record<string, Operation['run']> = {
			heartbeat: (store) => store.heartbeat(ref, duration),
			saveStep: (store) => store.saveStep(ref, step, `{"value":"${step.length}"}`),
			complete: (store) => store.complete(ref, response, duration),
			release: (store) => store.release(ref),
			resolve: (store) => store.resolve(id, response, duration),
			find: async (store) => comparable(await store.find(id)),
		}
		const named = Object.entries(operations).map(([name, run]) => ({ name: `${name} ${id} ${token}`, run }))
		return fc.constantFrom(...named)
	})

/** Without times of a wall clock, and with the lease rounded: the two clocks are not the same. */
const comparable = (key: StoredKey | undefined): unknown =>
	key && {
		...key,
		createdAt: undefined,
		expiresAt: undefined,
		completedAt: key.completedAt !== null,
		leaseLeftMs: key.leaseLeftMs !== null && Math.round(key.leaseLeftMs / OFFSET_MS),
		steps: key.steps.toSorted(),
	}

type Step = Operation | { readonly name: 'advance'; readonly units: number } | { readonly name: 'purge' }

const isOperation = (step: Step): step is Operation => 'run' in step

const step: fc.Arbitrary<Step> = fc.oneof(
	{ weight: 4, arbitrary: claim },
	{ weight: 5, arbitrary: written },
	{
		weight: 2,
		arbitrary: fc.integer({ min: 1, max: 3 }).map((units) => ({ name: 'advance' as const, units })),
	},
	{ weight: 1, arbitrary: fc.constant({ name: 'purge' as const }) },
)

interface Opened {
	readonly store: IdempotencyStore
	advance(ms: number): void | Promise<void>
	close(): void | Promise<void>
}

/** Runs random sequences of operations on two stores and compares what they return. */
export async function compareStores(
	openModel: () => Opened,
	open: () => Promise<Opened>,
	numRuns: number,
): Promise<void> {
	const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
		const model = openModel()
		const opened = await open()
		try {
			for (const one of steps) {
				if (isOperation(one))
					expect([one.name, rounded(await one.run(opened.store))]).toEqual([
						one.name,
						rounded(await one.run(model.store)),
					])
				else
					for (const { advance, store } of [model, opened]) {
						if (one.name === 'advance') await advance(one.units * UNIT_MS)
						// How many are left over depends on what else has removed expired keys.
						else await store.purge(100)
					}
			}
		} finally {
			await opened.close()
			await model.close()
		}
	})
	await fc.assert(property, { numRuns })
}

function rounded(result: unknown): unknown {
	const { leaseLeftMs } = Object(result) as { readonly leaseLeftMs?: unknown }
	return typeof leaseLeftMs === 'number'
		? { ...Object(result), leaseLeftMs: Math.round(leaseLeftMs / OFFSET_MS) }
		: result
}
