import { describe, expect, test } from 'vitest'
import { estimatePace, sampleDistribution } from '../../../../src/sim/incident/detect/service-time.ts'
import { setup, steadily } from '../setup.ts'

describe('the normal pace', () => {
	test('is not known without a response', () => {
		expect(estimatePace(setup([]))).toBeUndefined()
		expect(estimatePace(setup([{ at: 0 }, { at: 10, ms: 50, outcome: 'timedOut' }]))).toBeUndefined()
	})

	test('is that of the responses, without failures and timeouts', () => {
		const bins = setup([
			...steadily(0, 10_000, 100, { ms: 20 }),
			...steadily(0, 10_000, 100, { ms: 900, outcome: 'timedOut' }),
			...steadily(0, 10_000, 100, { ms: 1, outcome: 'failed' }),
		])
		expect(estimatePace(bins)).toEqual({ medianMs: 20, meanMs: 20, slowMs: 30 })
	})

	test('leaves out slow periods, even if they are most of the time', () => {
		const bins = setup([...steadily(0, 10_000, 50, { ms: 20 }), ...steadily(10_000, 30_000, 50, { ms: 400 })])
		expect(estimatePace(bins)).toMatchObject({ medianMs: 20, meanMs: 20 })
	})
})

describe('a sample of a distribution', () => {
	test('has all values, rounded to microseconds, if they are few', () => {
		expect(sampleDistribution(Float64Array.of(1.00049, 2, 3.1234567))).toEqual([1, 2, 3.123])
	})

	test('has evenly spaced quantiles if there are many', () => {
		const values = Float64Array.from({ length: 100_000 }, (_, index) => index)
		const sample = sampleDistribution(values)
		expect(sample).toHaveLength(2_000)
		expect(sample).toEqual(sample.toSorted((a, b) => a - b))
		expect(sample.reduce((sum, value) => sum + value, 0) / sample.length).toBeCloseTo(50_000, -2)
	})
})
