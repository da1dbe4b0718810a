/**
 * The published program that popularized jitter: clients write one row, and start again after each conflict. Its
 * published figures are means of 500 runs. If our model is right both have the same distribution, so ours also gives the
 * standard error of theirs. Ten figures at four standard errors: with fresh seeds about one run in 1,600 would raise a false alarm.
 */
import { describe, expect, test } from 'vitest'
import type { PolicyLayer } from 'yaoki/sim'
import { replicate } from 'yaoki/sim'

const REPETITIONS = 500

type RetryModel = Extract<PolicyLayer, { retry: unknown }>['retry']

const STRATEGIES: readonly [name: string, retry: RetryModel, calls: number, ms: number][] = [
	['none', { baseDelayMs: 0, growth: 'constant', jitterStrategy: 'none' }, 151.6, 597],
	// The published program numbers its first sleep 1, so its base of 5 is doubled once.
	['exponential', { baseDelayMs: 10, jitterStrategy: 'none' }, 150.1, 14_499],
	['equal', { baseDelayMs: 10, jitterStrategy: 'equal' }, 108.1, 1_630],
	['full', { baseDelayMs: 10, jitterStrategy: 'full' }, 100.3, 999],
	['decorrelated', { baseDelayMs: 5, jitterStrategy: 'decorrelated-aws' }, 101.1, 821],
]

describe('20 clients that write one row', () => {
	test.each(STRATEGIES)(
		'need the published number of calls and time with the backoff %s',
		(_, retry, calls, ms) => {
			const { measures } = replicate(
				{
					until: 'idle',
					services: { row: { kind: 'optimistic-lock', latencyMs: { kind: 'normal', meanMs: 10, sdMs: 2 } } },
					clients: {
						web: { to: 'row', arrivals: { kind: 'closed', users: 20, callsEach: 1 }, policy: 'again' },
					},
					policies: { again: [{ retry: { ...retry, maxDelayMs: 2_000, maxRetries: 100_000 } }] },
				},
				{ replications: REPETITIONS },
			)
			for (const [{ mean, sd }, published] of [
				[measures.requests, calls],
				[measures.lastResponseAtMs, ms],
			] as const) {
				const error = sd * Math.sqrt(1 / REPETITIONS + 1 / REPETITIONS)
				// Narrow enough to tell strategies apart.
				expect(error).toBeLessThan(0.02 * published)
				expect(Math.abs(mean - published), `${mean} against ${published}`).toBeLessThan(4 * error)
			}
			expect(measures.goodShare.min).toBe(1)
		},
	)
})
