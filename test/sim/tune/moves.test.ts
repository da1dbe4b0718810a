import { describe, expect, it, test } from 'vitest'
import { lint } from 'yaoki'
import type { PolicyLayer } from 'yaoki/sim'
import { EventLoop } from '../../../src/sim/kernel/event-loop.ts'
import { buildPolicy } from '../../../src/sim/scenario/layers.ts'
import { applyChanges, layersOf } from '../../../src/sim/tune/changes.ts'
import { isValid, listCandidates, movesFor } from '../../../src/sim/tune/moves.ts'

const tried = (layers: readonly PolicyLayer[], option: string): readonly unknown[] =>
	movesFor('a', layers)
		.filter(({ change }) => change.path.endsWith(option))
		.map(({ change }) => change.to)

describe('the changes to a policy', () => {
	it.each<[string, PolicyLayer, string, readonly unknown[]]>([
		['another jitter than the current one', { retry: {} }, 'jitterStrategy', ['equal', 'decorrelated']],
		[
			'another jitter than the one that its amount selects',
			{ retry: { jitterRangeMs: 5 } },
			'jitterStrategy',
			['full', 'equal', 'decorrelated'],
		],
		['fewer retries than the default', { retry: {} }, 'maxRetries', [2, 1, 0]],
		['fewer retries than one', { retry: { maxRetries: 1 } }, 'maxRetries', [0]],
		['no fewer retries than none', { retry: { maxRetries: 0 } }, 'maxRetries', []],
		['no multiple of a delay of 0', { retry: { baseDelayMs: 0 } }, 'baseDelayMs', []],
		['no second budget', { retry: { budget: {} } }, 'budget', []],
		[
			'integers only for a bulkhead',
			{ bulkhead: { maxConcurrent: 5, maxQueue: 5 } },
			'maxConcurrent',
			[3, 10, 20],
		],
		['no half of a single slot', { bulkhead: { maxConcurrent: 1 } }, 'maxConcurrent', [2, 4]],
		['no queue once', { bulkhead: { maxQueue: 1 } }, 'maxQueue', [0]],
		['no change of a queue of length 0', { bulkhead: { maxQueue: 0 } }, 'maxQueue', []],
		[
			'no multiple of Infinity',
			{ circuitBreaker: { failureThreshold: Infinity, errorRateThreshold: 0.5 } },
			'failureThreshold',
			[],
		],
		['no second rate', { circuitBreaker: { errorRateThreshold: 0.2 } }, 'errorRateThreshold', []],
		['a shorter and longer timeout', { timeoutMs: 300 }, '[0].timeoutMs', [150, 600, 1_500]],
	])('are %s', (_, layer, option, expected) => {
		expect(tried([layer], option)).toEqual(expected)
	})

	it('have a finite size, also if the number of retries is unlimited', () => {
		const moves = movesFor('a', [{ retry: { maxRetries: Infinity, maxElapsedMs: 1_000 } }])
		for (const { size } of moves) expect(size).toBeGreaterThan(0)
		expect(moves.filter(({ size }) => !Number.isFinite(size))).toEqual([])
	})

	it('add layers at their usual positions', () => {
		const layers: readonly PolicyLayer[] = [{ bulkhead: {} }, { retry: {} }]
		const added = movesFor('a', layers).filter(({ change }) => change.isAdded)
		expect(added.map(({ change }) => [change.path, change.layer])).toEqual([
			['a.timeoutMs', 2],
			['a.circuitBreaker', 2],
			['a.adaptiveThrottle', 0],
		])
		expect(
			applyChanges(
				{ a: layers },
				added.map(({ change }) => change),
			)['a'],
		).toMatchObject([
			{ adaptiveThrottle: {} },
			{ bulkhead: {} },
			{ retry: {} },
			{ circuitBreaker: {} },
			{ timeoutMs: 1_000 },
		])
	})
})

test('layers that tune adds pass lint, as an added breaker with a fixed open time of 5 s did not', () => {
	const added = movesFor('a', [{ retry: {} }]).filter(({ change }) => change.isAdded)
	expect(added).toHaveLength(4)
	const changes = added.map(({ change }) => change)
	const layers = layersOf('a', applyChanges({ a: [{ retry: {} }] }, changes))
	const loop = new EventLoop(1, 1)
	const policy = buildPolicy(layers, { loop, runtime: loop.runtime('a'), path: 'a' })
	expect(lint(policy).findings).toEqual([])
})

describe('the candidates', () => {
	const policies = {
		a: [{ retry: { baseDelayMs: 100, maxDelayMs: 300 } }, { timeoutMs: 50 }],
		b: [{ retry: {} }, { bulkhead: {} }],
	} satisfies Record<string, readonly PolicyLayer[]>
	const candidates = listCandidates(['a', 'b'], policies, 2)

	it('are ordered by size, and no two are the same policy', () => {
		const sizes = candidates.map(({ size }) => size)
		expect(sizes).toEqual(sizes.toSorted((one, other) => one - other))
		const keys = candidates.map(({ changes }) => JSON.stringify(applyChanges(policies, changes)))
		expect(new Set([...keys, JSON.stringify(policies)]).size).toBe(keys.length + 1)
	})

	it('never change one setting twice, and include pairs in two policies', () => {
		const pairs = candidates.filter(({ changes }) => changes.length === 2)
		expect(pairs.filter(({ changes: [one, two] }) => one?.path === two?.path)).toEqual([])
		expect(pairs.some(({ changes: [one, two] }) => one?.policy !== two?.policy)).toBe(true)
	})

	it('are single changes only with maxChanges 1', () => {
		const single = listCandidates(['a', 'b'], policies, 1)
		expect(single.length).toBeGreaterThan(10)
		expect(single).toHaveLength(candidates.filter(({ changes }) => changes.length === 1).length)
		expect(single.filter(({ changes }) => changes.length !== 1)).toEqual([])
	})

	it('are not valid if the policy is not, such as a base above the maximum', () => {
		const described = (option: string, to: unknown) => (one: { option?: string | undefined; to: unknown }) =>
			one.option === option && one.to === to
		const base = candidates.filter(({ changes }) => changes.some(described('baseDelayMs', 500)))
		const valid = base.filter((one) => isValid(one, policies))
		expect(base.length).toBeGreaterThan(valid.length)
		// Five times the base is valid only with a greater maximum.
		expect(valid.map(({ changes }) => changes.map(({ option }) => option).toSorted())).toEqual([
			['baseDelayMs', 'maxDelayMs'],
			['baseDelayMs', 'maxDelayMs'],
		])
	})
})
