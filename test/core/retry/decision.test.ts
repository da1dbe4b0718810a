import { expect, it } from 'vitest'
import { stopReason } from '../../../src/core/retry/decision.ts'
import { readRetryOptions } from '../../../src/core/retry/options.ts'

it('asks shouldRetry after the last attempt only if there is an outer retry', () => {
	const asked: number[] = []
	const settings = readRetryOptions({
		maxRetries: 2,
		shouldRetry: (_, attempt) => {
			asked.push(attempt)
			return attempt < 2
		},
	})
	const reason = (attempt: number, hasOuterRetry?: boolean) =>
		stopReason(settings, attempt, new Error('down'), { kind: 'transient', isKnown: true }, hasOuterRetry)
	expect([reason(0), reason(1), reason(2)]).toEqual([undefined, undefined, 'retries-exhausted'])
	expect(asked).toEqual([0, 1])
	expect(reason(2, true)).toBe('should-retry-false')
	expect(asked).toEqual([0, 1, 2])
})
