import { describe, expect, it } from 'vitest'
import { compare, replicate, type Scenario, type TuneChange, tune } from 'yaoki/sim'
import { rankSettings } from '../../../src/sim/tune/sensitivity.ts'
import { setup } from '../setup.ts'

/** Half of the responses are errors and delays do not matter, so only the number of retries and the budget do. */
const flaky: Scenario = {
	...setup({
		api: {
			workers: Infinity,
			serviceTimeMs: 1,
			faults: [{ kind: 'errors', rate: 0.5, fromMs: 0, toMs: 900 }],
		},
		web: { arrivals: { kind: 'constant', perSecond: 200 } },
		policy: [{ retry: { maxRetries: 2, baseDelayMs: 1, maxDelayMs: 100 } }],
		rest: { durationMs: 1_000 },
	}),
}
const options = {
	constraints: { amplification: { atMost: 1.01 } },
	replications: 4,
	maxSteps: 1,
	sensitivity: true,
}

describe('the sensitivity', () => {
	const { sensitivity = [], before } = tune('web', flaky, options)
	const of = (option: string) => sensitivity.find(({ path }) => path === `web[0].retry.${option}`)

	it('is only measured on request', () => {
		expect(tune('web', flaky, { ...options, sensitivity: false }).sensitivity).toBeUndefined()
	})

	it('ranks the settings that matter before those that do not', () => {
		const relative = sensitivity.map(({ strongest }) => strongest?.relative ?? -1)
		expect(relative).toEqual(relative.toSorted((one, other) => other - one))
		const ranked = sensitivity.map(({ path }) => path)
		const rank = (option: string) => ranked.indexOf(`web[0].retry.${option}`)
		expect(rank('maxRetries')).toBeLessThan(rank('jitterStrategy'))
		expect(rank('budget')).toBeLessThan(rank('maxDelayMs'))
	})

	it('has every alternative with its difference to the original, seed by seed', () => {
		const retries = of('maxRetries')
		expect(retries?.from).toBe(2)
		expect(retries?.alternatives.map(({ to }) => to)).toEqual([1, 0])
		const without = {
			...flaky,
			policies: { web: [{ retry: { maxRetries: 0, baseDelayMs: 1, maxDelayMs: 100 } }] },
		}
		const [, second] = compare([flaky, without], { replications: 4 })
		expect(retries?.alternatives[1]?.differences).toEqual({
			amplification: second?.difference.amplification,
			goodShare: second?.difference.goodShare,
		})
		const strongest = retries?.strongest
		expect(strongest).toMatchObject({ to: 0, difference: { count: 4 } })
		expect(before.measures.amplification.mean).toBeGreaterThan(1.3)
	})

	it('is within noise where the interval contains zero, and with a single run', () => {
		const noisy = of('maxDelayMs')
		expect(noisy).toMatchObject({ strongest: undefined })
		const single = tune('web', flaky, { ...options, replications: 1 }).sensitivity ?? []
		expect(single.length).toBe(sensitivity.length)
		for (const { strongest } of single) expect(strongest).toBeUndefined()
	})

	it('is measured for a policy that survives, too', () => {
		const { steps, sensitivity: found } = tune('web', flaky, {
			...options,
			constraints: { amplification: { atMost: 9 } },
		})
		expect(steps).toEqual([])
		expect(found).toEqual(sensitivity)
	})

	it('counts a run that never recovers with the time that it had', () => {
		const runs = (maxRetries: number) =>
			replicate(
				setup({
					api: {
						serviceTimeMs: 10,
						faults: [{ kind: 'slowdown', factor: 20, fromMs: 1_000, toMs: 2_000 }],
					},
					web: { arrivals: { kind: 'poisson', perSecond: 60 } },
					policy: [{ retry: { maxRetries, baseDelayMs: 10, maxDelayMs: 100 } }, { timeoutMs: 200 }],
					rest: { durationMs: 12_000 },
				}),
				{ replications: 2 },
			).runs
		const [stuck, recovered] = [runs(3), runs(0)]
		const change: TuneChange = {
			path: 'web[0].retry.maxRetries',
			policy: 'web',
			layer: 0,
			kind: 'retry',
			option: 'maxRetries',
			from: 3,
			to: 0,
		}
		const [found] = rankSettings(stuck, [{ change, runs: recovered }], ['recoveredAfterMs'])
		expect(stuck.map(({ recovery }) => recovery?.recoveredAfterMs)).toEqual([null, null])
		const expected = recovered.map(({ recovery }) => (recovery?.recoveredAfterMs ?? 0) - 10_000)
		const difference = found?.alternatives[0]?.differences.recoveredAfterMs
		expect([difference?.min, difference?.max]).toEqual(expected.toSorted((one, other) => one - other))
	})
})
