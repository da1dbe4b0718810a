import { expect, test } from 'vitest'
import { simulate } from 'yaoki/sim'
import { setup, web } from '../setup.ts'

test('a loop without virtual time ends before the default event limit, because it would exceed the memory', () => {
	const result = simulate(
		setup({
			api: { faults: [{ kind: 'outage', fromMs: 0, toMs: 1e6 }] },
			policy: [{ retry: { maxRetries: 1e12, baseDelayMs: 0, jitterStrategy: 'none' } }],
			rest: { durationMs: 1_000 },
		}),
	)
	expect(result.endedBy).toBe('event-limit')
	expect(web(result).requests).toBeLessThan(2e6)
})
