import { describe, expect, it } from 'vitest'
import { InvalidArgumentError, retry } from 'yaoki'
import { applyChanges, type PolicyLayer, type TuneChange } from 'yaoki/sim'

const client: readonly PolicyLayer[] = [
	{ retry: { maxRetries: 3, baseDelayMs: 100 }, shared: true },
	{ timeoutMs: 500 },
]

const change = (given: Partial<TuneChange>): TuneChange => ({
	path: 'client[0].retry',
	policy: 'client',
	layer: 0,
	kind: 'retry',
	from: undefined,
	to: 0,
	...given,
})
const fewer = change({ option: 'maxRetries', to: 1 })
const jitter = change({ option: 'jitterStrategy', to: 'none' })
const longer = change({ kind: 'timeoutMs', layer: 1, to: 900 })
const throttle = change({ kind: 'adaptiveThrottle', isAdded: true, to: {} })
const breaker = change({ kind: 'circuitBreaker', layer: 1, isAdded: true, to: { failureThreshold: 9 } })
const inner = change({ kind: 'timeoutMs', layer: 2, isAdded: true, to: 50 })

describe('changes applied to policies', () => {
	it.each([
		['none', [], client],
		[
			'change one option',
			[fewer],
			[{ retry: { maxRetries: 1, baseDelayMs: 100 }, shared: true }, { timeoutMs: 500 }],
		],
		[
			'two options of one layer, which both count',
			[fewer, jitter],
			[
				{ retry: { maxRetries: 1, baseDelayMs: 100, jitterStrategy: 'none' }, shared: true },
				{ timeoutMs: 500 },
			],
		],
		['a whole layer', [longer], [client[0], { timeoutMs: 900 }]],
		['a layer that is added outermost', [throttle], [{ adaptiveThrottle: {} }, ...client]],
		['a layer that is added innermost', [inner], [...client, { timeoutMs: 50 }]],
		[
			'an added layer and an option behind it, whose index is that of the original',
			[throttle, longer],
			[{ adaptiveThrottle: {} }, client[0], { timeoutMs: 900 }],
		],
		[
			'add several layers',
			[inner, breaker, throttle],
			[
				{ adaptiveThrottle: {} },
				client[0],
				{ circuitBreaker: { failureThreshold: 9 } },
				{ timeoutMs: 500 },
				{ timeoutMs: 50 },
			],
		],
		[
			'two layers added at the same place, the last of which is the outermost',
			[throttle, change({ kind: 'adaptiveBulkhead', isAdded: true, to: {} })],
			[{ adaptiveBulkhead: {} }, { adaptiveThrottle: {} }, ...client],
		],
	])('%s', (_, changes, expected) => {
		const policies = { client, other: client }
		const changed = applyChanges(policies, changes)
		expect(changed).toEqual({ client: expected, other: client })
		expect(policies).toEqual({ client, other: client })
	})

	it('gives the same policy in any order, except for layers added at the same place', () => {
		const changes = [fewer, jitter, longer, throttle, breaker, inner]
		const expected = applyChanges({ client }, changes)
		expect(applyChanges({ client }, changes.toReversed())).toEqual(expected)
	})

	it('changes two policies, and leaves functions as they are', () => {
		const make = () => retry()
		const changed = applyChanges({ client, other: client, make }, [fewer, { ...longer, policy: 'other' }])
		expect(changed).toEqual({
			client: [{ retry: { maxRetries: 1, baseDelayMs: 100 }, shared: true }, { timeoutMs: 500 }],
			other: [client[0], { timeoutMs: 900 }],
			make,
		})
	})

	it('rejects a policy that is a function', () => {
		const apply = () => applyChanges({ client: () => retry() }, [change({ policy: 'client' })])
		expect(apply).toThrow('Invalid argument "policies.client": expected layers as data')
	})

	it.each([
		['the name of a policy in the scenario: client', { policy: 'other' }],
		['a policy whose layer 1 is a retry', { layer: 1, option: 'maxRetries' }],
		['a policy whose layer 9 is a retry', { layer: 9, option: 'maxRetries' }],
	])('rejects a change that does not fit: %s', (message, given) => {
		const apply = () => applyChanges({ client }, [change(given)])
		expect(apply).toThrow(InvalidArgumentError)
		expect(apply).toThrow(message)
	})
})
