/** An amount of jitter without a strategy selects the strategy that uses it. */
import { describe, expect, test } from 'vitest'
import { calculateDelay, lint, pipeline, presets, retry, schedule, timeout } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { virtualRuntime } from 'yaoki/testing'
import { readDestination, readRelayOptions } from '../../../src/outbox/relay/options.ts'

const unused = (...args: Parameters<typeof lint>): readonly string[] =>
	lint(...args)
		.findings.filter(({ code }) => code === 'unused-option')
		.map(({ message }) => message)

describe('jitterFactor without a strategy', () => {
	test('adds a share of the step', () => {
		const { delays } = schedule({ baseDelayMs: 1_000, maxRetries: 2, jitterFactor: 0.5 })
		expect(delays).toEqual([
			{ attempt: 0, minMs: 1_000, meanMs: 1_250, maxMs: 1_500 },
			{ attempt: 1, minMs: 2_000, meanMs: 2_500, maxMs: 3_000 },
		])
		const runtime = { ...virtualRuntime(), random: () => 0.5 }
		expect(calculateDelay(0, { jitterFactor: 0.4, runtime })).toBe(1_200)
	})

	test('is used by a retry, also if it is set later', async () => {
		const clock = virtualRuntime()
		const waits: number[] = []
		const policy = retry({ maxRetries: 1, runtime: clock, onRetry: (_, __, delayMs) => waits.push(delayMs) })
		policy.update({ jitterFactor: 0 })
		const result = policy.settle(() => Promise.reject(new Error('down')))
		await clock.runUntilIdle()
		expect((await result).ok).toBe(false)
		expect(waits).toEqual([1_000])
	})
})

describe('jitterRangeMs without a strategy', () => {
	test('adds up to that many milliseconds', () => {
		expect(schedule({ baseDelayMs: 1_000, maxRetries: 1, jitterRangeMs: 200 }).total).toEqual({
			minMs: 1_000,
			meanMs: 1_100,
			maxMs: 1_200,
		})
	})

	test('cannot be combined with jitterFactor, because only one of them can be meant', () => {
		expect(() => retry({ jitterFactor: 0.5, jitterRangeMs: 200 })).toThrow(
			"Invalid option \"jitterStrategy\": expected 'proportional' or 'additive' beside jitterFactor and jitterRangeMs, got undefined",
		)
	})
})

describe('the strategy is selected wherever these options are accepted:', () => {
	test.each([
		[{ jitterFactor: 0.5 }, 'proportional'],
		[{ jitterRangeMs: 50 }, 'additive'],
		[{ jitterFactor: 0.5, jitterStrategy: 'full' }, 'full'],
		[{}, 'decorrelated'],
	] as const)('retry of a relay %j', (options, strategy) => {
		const relay = readRelayOptions({ destinations: {} } as never)
		const { retry: settings } = readDestination('mail', { deliver: () => {}, retry: options }, relay)
		expect(settings.jitterStrategy).toBe(strategy)
	})

	test('an HTTP client', () => {
		expect(lint(new ResilientHttpClient({ jitterFactor: 0.9 })).findings).toContainEqual(
			expect.objectContaining({ code: 'jitter-factor' }),
		)
		expect(lint(new ResilientHttpClient()).findings.map(({ code }) => code)).not.toContain('jitter-factor')
	})
})

describe('lint reports an amount of jitter that the strategy does not use', () => {
	test('such as one that a preset leaves behind', () => {
		const policy = pipeline(retry({ ...presets.background, jitterStrategy: 'full' }), timeout(5_000))
		expect(lint(policy).findings).toContainEqual({
			code: 'unused-option',
			name: 'retry',
			message: "jitterFactor has no effect, because jitterStrategy is 'full'.",
			fix: "Remove it, or use jitterStrategy 'proportional'.",
		})
	})

	test('an unused amount of jitter is reported for an HTTP client too', () => {
		expect(
			unused(new ResilientHttpClient({ jitterStrategy: 'equal', jitterFactor: 0.1, jitterRangeMs: 5 })),
		).toEqual([
			"jitterFactor has no effect, because jitterStrategy is 'equal'.",
			"jitterRangeMs has no effect, because jitterStrategy is 'equal'.",
		])
	})

	test('the defaults, a preset and an amount that is used are not reported', () => {
		for (const options of [{}, ...Object.values(presets), { jitterFactor: 0.1 }, { jitterRangeMs: 10 }])
			expect(unused(retry(options))).toEqual([])
		expect(unused(new ResilientHttpClient())).toEqual([])
	})

	test('the value of an unused amount is validated', () => {
		expect(() => retry({ jitterStrategy: 'full', jitterFactor: 2 })).toThrow('Invalid option "jitterFactor"')
	})
})
