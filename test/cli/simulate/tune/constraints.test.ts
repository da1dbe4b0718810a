import { describe, expect, test } from 'vitest'
import { parseAssertion } from '../../../../src/cli/simulate/assertions.ts'
import {
	constraintTexts,
	defaultConstraints,
	toConstraints,
} from '../../../../src/cli/simulate/tune/tune-input.ts'
import { pair, small } from '../files.ts'

const parse = (...texts: readonly string[]) => toConstraints(texts.map((text) => parseAssertion(text, pair)))

describe('the constraints of a search', () => {
	test.each([
		[['p99Ms<=500'], { p99Ms: { atMost: 500 } }],
		[['p99Ms<500', 'p99Ms>5'], { p99Ms: { below: 500, above: 5 } }],
		[['goodShare>=90%'], { goodShare: { atLeast: 0.9 } }],
		[['retries: amplification<2'], { amplification: { below: 2 } }],
		[
			['amplification<=3', 'amplification<=1.5', 'goodShare>=0.5', 'goodShare>=0.7'],
			{ amplification: { atMost: 1.5 }, goodShare: { atLeast: 0.7 } },
		],
	])('%j', (texts, expected) => {
		expect(parse(...texts)).toEqual(expected)
	})

	test('the constraints of a search are by default recovery and at most twice the load', () => {
		expect(defaultConstraints([small])).toEqual({
			recoveredAfterMs: { atLeast: 0 },
			amplification: { atMost: 2 },
		})
	})

	test('the constraints of a search are by default good calls if there is no fault to recover from', () => {
		const calm = {
			...small,
			services: { api: { serviceTimeMs: 1 }, row: { kind: 'optimistic-lock' as const } },
		}
		expect(defaultConstraints([calm])).toEqual({ goodShare: { atLeast: 0.99 }, amplification: { atMost: 2 } })
	})

	test('the constraints of a search are printed as they are written', () => {
		expect(constraintTexts(defaultConstraints([small]))).toEqual(['recovers', 'amplification<=2'])
		expect(constraintTexts(parse('goodShare>=99.9%', 'p99Ms<500', 'p99Ms>=1'))).toEqual([
			'goodShare>=0.999',
			'p99Ms>=1 and p99Ms<500',
		])
	})
})
