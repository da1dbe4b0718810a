import { describe, expect, it } from 'vitest'
import { type Fault, simulate } from 'yaoki/sim'
import { api, every, setup } from '../setup.ts'
import { serve } from './serve.ts'

const restart = (rest: Partial<Extract<Fault, { kind: 'restart' }>> = {}): Fault => ({
	kind: 'restart',
	fromMs: 20,
	toMs: 40,
	...rest,
})

describe('a restart', () => {
	it('is an outage with mode refuse if no caches are cold', () => {
		const requests = { a: 0, b: 15, c: 20, d: 39, e: 40 }
		const outage: Fault = { kind: 'outage', fromMs: 20, toMs: 40 }
		expect(serve({ faults: [restart()] }, requests)).toEqual(serve({ faults: [outage] }, requests))
		expect(serve({ faults: [restart({ coldFactor: 9 })] }, requests)).toEqual(
			serve({ faults: [outage] }, requests),
		)
		expect(serve({ faults: [restart({ warmUpMs: 9 })] }, requests)).toEqual(
			serve({ faults: [outage] }, requests),
		)
	})

	it('is followed by a service time that falls linearly to its normal length', () => {
		const faults = [restart({ coldFactor: 5, warmUpMs: 1_000 })]
		expect(serve({ faults, workers: 9 }, { a: 40, b: 290, c: 540, d: 790, e: 1_040, f: 2_000 })).toEqual([
			'a ok at 90',
			'b ok at 330',
			'c ok at 570',
			'd ok at 810',
			'e ok at 1050',
			'f ok at 2010',
		])
	})

	it('costs the integral of the factor: half of the excess over the warm-up', () => {
		const faults = [restart({ fromMs: 0, toMs: 1, coldFactor: 5, warmUpMs: 10_000 })]
		const result = simulate(
			setup({ api: { workers: 99, serviceTimeMs: 10, faults }, web: { arrivals: every(1, 20_001) } }),
		)
		// 10,000 requests at a mean factor of 3, and 10,000 at 1. The first one is refused.
		expect(api(result).usefulMs / (10_000 * 10 * 3 + 10_000 * 10)).toBeCloseTo(1, 3)
	})

	it('multiplies the factors during the warm-up of another one', () => {
		const faults = [
			restart({ coldFactor: 5, warmUpMs: 1_000 }),
			restart({ fromMs: 539, toMs: 540, coldFactor: 2, warmUpMs: 100 }),
		]
		expect(serve({ faults, workers: 9 }, { a: 540 })).toEqual(['a ok at 600'])
	})

	it('has ended when the service is up: the warm-up belongs to the recovery', () => {
		const run = (warmUpMs: number) =>
			simulate(
				setup({
					api: {
						serviceTimeMs: 10,
						faults: [restart({ fromMs: 1_000, toMs: 2_000, coldFactor: 10, warmUpMs })],
					},
					web: { arrivals: { kind: 'constant', perSecond: 50, toMs: 60_000 }, goodWithinMs: 100 },
				}),
			).recovery
		expect(run(0)).toMatchObject({ faultEndedAtMs: 2_000, healthyAfterMs: 0 })
		expect(run(5_000)?.faultEndedAtMs).toBe(2_000)
		expect(run(5_000)?.healthyAfterMs ?? 0).toBeGreaterThan(5_000)
	})
})
