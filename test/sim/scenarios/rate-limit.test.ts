import { expect, test } from 'vitest'
import type { SimulationResult } from '../../../src/sim/measure/result.ts'
import { rateLimit } from '../../../src/sim/scenarios/rate-limit.ts'
import { type Column, percent, perSecond, Studied, seconds, times, whole } from './studied.ts'

const study = new Studied(rateLimit)
const rateLimited = ({ services }: SimulationResult): number => services['api']?.rateLimited ?? Number.NaN

const COLUMNS: readonly Column[] = [
	['calls succeeded', 'goodShare', percent],
	['429 responses', rateLimited, whole],
	['requests per call', 'amplification', times],
	['busiest half second', 'peakPerSecond', perSecond],
	['done after', 'lastResponseAtMs', seconds],
]
const TO_THE_LETTER = 'Retry-After, exact'

test('the table on the page shows the results of the runs', () => {
	study.expectTable('docs/scenarios/rate-limit.md', 'variant', COLUMNS)
})

test('a limiter with its share of the limit finishes all calls without a 429, as early as the limit allows', () => {
	for (const name of ['own limiter, 10/s each', 'shared limiter']) {
		expect(study.values(name, rateLimited)).toEqual(new Array(10).fill(0))
		expect(study.mean(name, 'goodShare')).toBe(1)
		expect(study.mean(name, 'lastResponseAtMs')).toBeLessThan(30_100)
	}
})

test('a limiter with the whole limit in each of ten processes hardly helps', () => {
	expect(study.mean('own limiter, 100/s each', 'goodShare')).toBeLessThan(0.65)
})

test('an exact Retry-After loses nine calls in ten: all wait for the same token', () => {
	expect(study.mean(TO_THE_LETTER, 'goodShare')).toBeLessThan(0.1)
	for (const name of study.names.filter((other) => other !== TO_THE_LETTER))
		expect(study.mean(TO_THE_LETTER, rateLimited)).toBeGreaterThan(study.mean(name, rateLimited))
})

test('with jitter, the same retries finish nearly all calls, with and without Retry-After', () => {
	for (const name of ['backoff, no Retry-After', 'Retry-After with jitter']) {
		expect(study.mean(name, 'goodShare')).toBeGreaterThan(0.995)
		expect(study.mean(name, 'lastResponseAtMs')).toBeGreaterThan(30_000)
	}
})
