import { describe, expect, test } from 'vitest'
import { simulate } from 'yaoki/sim'
import { clientOf, every, setup, web } from '../setup.ts'

/** Ten slots, and a service that hangs for five of twenty seconds. */
const HANG = { kind: 'outage', mode: 'hang', fromMs: 5_000, toMs: 10_000 } as const
const SLOTS = [{ bulkhead: { maxConcurrent: 10, maxQueue: 0 } }, { timeoutMs: 500 }] as const

describe('a bulkhead around a timeout, while the service hangs', () => {
	const run = (ignoresSignal?: boolean) =>
		web(
			simulate(
				setup({
					api: { workers: Infinity, faults: [HANG] },
					web: { arrivals: every(20, 1_000), ignoresSignal },
					policy: SLOTS,
				}),
			),
		)

	// Operations never ended, so the bulkhead stayed full for ever after a hang, while production recovered.
	test('frees its slots at the timeout by default', () => {
		expect(run()).toMatchObject({ calls: 1_000, good: 750 })
		expect(run(false)).toEqual(run())
	})

	test('keeps its slots if operations ignore their signal', () => {
		expect(run(true)).toMatchObject({ good: 250, rejected: 740 })
	})
})

describe('a service that calls another through a bulkhead and a timeout', () => {
	const run = (ignoresSignal: boolean | undefined, passContext: boolean) =>
		clientOf(
			simulate({
				until: 'idle',
				services: {
					front: {
						workers: Infinity,
						serviceTimeMs: 1,
						dependsOn: [{ to: 'db', policy: 'slots', passContext }],
						ignoresSignal,
					},
					db: { workers: Infinity, serviceTimeMs: 10, faults: [HANG] },
				},
				clients: { web: { to: 'front', arrivals: every(20, 1_000), policy: 'none' } },
				policies: { slots: SLOTS, none: [] },
			}),
			'web',
		)

	test.each([false, true])('frees its slots at the timeout by default, passContext %s', (passContext) => {
		expect(run(undefined, passContext).good).toBe(750)
	})

	test.each([false, true])('keeps its slots if it ignores signals, passContext %s', (passContext) => {
		expect(run(true, passContext).good).toBe(250)
	})
})

test('a deadline ends a call, unless its operation ignores the signal', () => {
	const run = (ignoresSignal: boolean) =>
		web(simulate(setup({ api: { serviceTimeMs: 100 }, web: { deadlineMs: 30, ignoresSignal }, policy: [] })))
	expect(run(false)).toMatchObject({ good: 0, failed: 1 })
	expect(run(true)).toMatchObject({ good: 1, failed: 0 })
})
