import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSchedule } from '../../../src/cli/demo/schedule.ts'

test('a demo of any duration has an outage, then a kill, then time to finish', () => {
	fc.assert(
		fc.property(fc.double({ min: 5, max: 3600, noNaN: true }), (seconds) => {
			const { produceMs, outage, killAtMs, failures, leaseMs, timeoutMs } = createSchedule(seconds)
			expect(outage.fromMs).toBeGreaterThan(0)
			expect(outage.toMs - outage.fromMs).toBeGreaterThanOrEqual(500)
			expect(outage.toMs).toBeLessThan(killAtMs)
			expect(killAtMs).toBeLessThan(produceMs)
			expect(produceMs).toBeLessThan(seconds * 1000)
			for (const { atMs } of failures) expect(atMs).toBeLessThan(outage.fromMs)
			expect(Math.min(leaseMs, timeoutMs)).toBeGreaterThanOrEqual(500)
		}),
	)
})
