import { expect, test } from 'vitest'
import type { SimulationResult } from '../../../src/sim/measure/result.ts'
import { rateLimit } from '../../../src/sim/scenarios/rate-limit.ts'
import { type Column, percent, perSecond, Studied, seconds, times, whole } from './studied.ts'

const study = new Studied(rateLimit)
const refused = ({ services }: SimulationResult): number => services['api']?.rateLimited ?? Number.NaN

const COLUMNS: readonly Column[] = [
	['calls answered', 'goodShare', percent],
	['answers with 429', refused, whole],
	['requests a call', 'amplification', times],
	['busiest half second', 'peakPerSecond', perSecond],
	['done after', 'lastResponseAtMs', seconds],
]
const TO_THE_LETTER = 'Retry-After, to the letter'

test('the page shows what comes out', () => {
	study.expectTable('docs/scenarios/rate-limit.md', 'variant', COLUMNS)
})

test('a limiter that knows its share answers every call without a 429, as soon as the limit allows', () => {
	for (const name of ['a limiter each, of 10/s', 'one limiter for all']) {
		expect(study.values(name, refused)).toEqual(new Array(10).fill(0))
		expect(study.mean(name, 'goodShare')).toBe(1)
		expect(study.mean(name, 'lastResponseAtMs')).toBeLessThan(30_100)
	}
})

test('a limiter in each of ten processes, all with the whole limit, is next to none', () => {
	expect(study.mean('a limiter each, of 100/s', 'goodShare')).toBeLessThan(0.6)
})

test('Retry-After to the letter loses nine calls in ten: all are told of the same place', () => {
	expect(study.mean(TO_THE_LETTER, 'goodShare')).toBeLessThan(0.1)
	for (const name of study.names.filter((other) => other !== TO_THE_LETTER))
		expect(study.mean(TO_THE_LETTER, refused)).toBeGreaterThan(study.mean(name, refused))
})

test('spread by chance, the same retries get nearly all calls through, with Retry-After and without', () => {
	for (const name of ['backoff, no Retry-After', 'Retry-After, and spread']) {
		expect(study.mean(name, 'goodShare')).toBeGreaterThan(0.995)
		expect(study.mean(name, 'lastResponseAtMs')).toBeGreaterThan(30_000)
	}
})
