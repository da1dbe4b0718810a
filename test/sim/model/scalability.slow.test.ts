import { describe, expect, it } from 'vitest'
import { simulate } from 'yaoki/sim'
import { scalabilityFactor } from '../../../src/sim/model/server.ts'
import type { ScalabilityModel } from '../../../src/sim/scenario/scenario.ts'
import { api, setup, web } from '../setup.ts'
import { serve } from './serve.ts'

/** Throughput of a closed system relative to that of one user: n users that call again immediately. */
function speedup(scalability: ScalabilityModel, users: number): number {
	const [warmUpMs, forMs] = [2_000, 20_000]
	const run = (durationMs: number) =>
		web(
			simulate(
				setup({
					api: { workers: Infinity, serviceTimeMs: 10, scalability },
					// Each starts on its own, so that all others are in progress when a request starts.
					web: { arrivals: { kind: 'closed', users, startWithinMs: 10 } },
					rest: { durationMs },
				}),
			),
		).good
	return (run(warmUpMs + forMs) - run(warmUpMs)) / (forMs / 10)
}

/** The Universal Scalability Law. */
const law = ({ contention = 0, coherency = 0 }: ScalabilityModel, n: number): number =>
	n / (1 + contention * (n - 1) + coherency * n * (n - 1))

describe('a service with a scalability', () => {
	it.each<ScalabilityModel>([
		{ contention: 0.05 },
		{ coherency: 0.002 },
		{ contention: 0.03, coherency: 0.001 },
		{},
	])('has the throughput of the Universal Scalability Law: %j', (model) => {
		for (const users of [1, 2, 8, 32, 100])
			expect(Math.abs(speedup(model, users) / law(model, users) - 1)).toBeLessThan(0.01)
	})

	it('never exceeds one over the contention', () => {
		const model = { contention: 0.1 }
		expect(speedup(model, 500)).toBeLessThan(10)
		expect(speedup(model, 500)).toBeGreaterThan(9.7)
	})

	it('has its maximum at the square root of (1 - contention) / coherency', () => {
		const model = { contention: 0.04, coherency: 0.0006 }
		const peak = Math.sqrt((1 - 0.04) / 0.0006)
		expect(Math.round(peak)).toBe(40)
		const [before, at, after] = [20, 40, 80].map((users) => speedup(model, users))
		expect(at).toBeGreaterThan(before ?? Infinity)
		expect(at).toBeGreaterThan(after ?? Infinity)
	})

	it('takes longer for a request that starts when others are in progress', () => {
		const scalability = { contention: 0.5, coherency: 0.1 }
		// Two in progress: 1 + 0.5 + 0.2; three: 1 + 1 + 0.6.
		expect(serve({ scalability, workers: 9 }, { a: 0, b: 1, c: 2 })).toEqual([
			'a ok at 10',
			'b ok at 18',
			'c ok at 28',
		])
	})

	it('has the capacity of all workers together', () => {
		const capacity = (workers: number) =>
			api(simulate(setup({ api: { workers, scalability: { contention: 0.1 } }, rest: { durationMs: 10 } })))
				.capacityPerSecond
		expect(capacity(1)).toBe(100)
		expect(capacity(11)).toBeCloseTo(1_100 / 2, 6)
		expect(capacity(Infinity)).toBeNull()
	})

	it('is as fast as without, for a single request', () => {
		expect(scalabilityFactor({ contention: 0.3, coherency: 0.2 }, 1)).toBe(1)
	})
})
