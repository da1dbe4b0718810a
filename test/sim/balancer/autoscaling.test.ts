import { describe, expect, test } from 'vitest'
import { type Fault, simulate } from 'yaoki/sim'
import type { AutoscalingModel } from '../../../src/sim/scenario/scenario.ts'
import { api, setup, web } from '../setup.ts'

/** One worker per instance and a service time of 100 ms: ten calls per second are one busy instance. */
const run = (
	perSecond: number,
	autoscaling: Partial<AutoscalingModel>,
	duration = 120_000,
	faults: Fault[] = [],
	warmUpMs = 0,
) =>
	simulate(
		setup({
			api: {
				instances: 2,
				serviceTimeMs: 100,
				faults,
				loadBalancer: { strategy: 'least-requests' },
				autoscaling: {
					maxInstances: 10,
					targetUtilization: 0.5,
					everyMs: 5_000,
					startMs: 10_000,
					scaleDownAfterMs: 20_000,
					...autoscaling,
				},
			},
			web: { arrivals: { kind: 'constant', perSecond }, goodWithinMs: 150 },
			rest: { durationMs: duration, warmUpMs },
		}),
	)

const capacity = (...args: Parameters<typeof run>) => api(run(...args)).capacityPerSecond

describe('autoscaling', () => {
	test('adds instances until the utilization is at its target', () => {
		expect(capacity(30, {})).toBe(60)
		expect(capacity(30, { targetUtilization: 0.75 })).toBe(40)
	})

	test('adds no more than maxInstances', () => {
		expect(capacity(30, { maxInstances: 4 })).toBe(40)
	})

	test('removes instances down to minInstances', () => {
		expect(capacity(1, {})).toBe(10)
		expect(capacity(1, { minInstances: 2 })).toBe(20)
	})

	test('removes them only after scaleDownAfterMs', () => {
		expect(capacity(1, {}, 19_000)).toBe(20)
	})

	test('changes nothing near the target', () => {
		expect(capacity(10, {})).toBe(20)
	})

	test('helps only after startMs', () => {
		const good = (startMs: number) => web(run(30, { startMs }, 60_000)).goodShare
		expect(good(0)).toBeGreaterThan(good(20_000) + 0.2)
	})

	// The worker time of the warm-up was not counted, so that an idle service seemed to start.
	test('counts the work of the warm-up', () => {
		expect(capacity(30, {}, 60_000, [], 40_000)).toBe(capacity(30, {}, 60_000))
	})

	test('uses the mean number of instances for the utilization of the run', () => {
		expect(api(run(30, {}, 600_000)).utilization).toBeCloseTo(0.5, 1)
	})
})

test('an instance that starts during an outage of all is down too', () => {
	const outage: Fault = { kind: 'outage', mode: 'refuse', fromMs: 12_000, toMs: 40_000 }
	const result = run(30, {}, 39_000, [outage])
	expect(api(result).instances?.length).toBeGreaterThan(2)
	expect(api(result).instances?.at(-1)?.failures).toBe(api(result).instances?.at(-1)?.requests)
})
