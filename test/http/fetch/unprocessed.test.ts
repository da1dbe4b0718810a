import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isUnprocessed } from '../../../src/http/request/retry-safety.ts'

const coded = (code: string, cause?: unknown) => Object.assign(new Error(code, { cause }), { code })
const connectionRefused = () => coded('ECONNREFUSED')
const reset = () => coded('ECONNRESET')

describe('an error proves that nothing was processed', () => {
	test('an error proves that nothing was processed by its code, or that of a cause', () => {
		expect(isUnprocessed(connectionRefused())).toBe(true)
		expect(isUnprocessed(new TypeError('fetch failed', { cause: connectionRefused() }))).toBe(true)
		expect(isUnprocessed(reset())).toBe(false)
	})

	test('an error proves that nothing was processed as an AggregateError only if every part does, whatever its own code', () => {
		const aggregate = (...parts: unknown[]) =>
			Object.assign(new AggregateError(parts), { code: 'ECONNREFUSED' })
		expect(isUnprocessed(aggregate(connectionRefused(), connectionRefused()))).toBe(true)
		expect(isUnprocessed(aggregate(connectionRefused(), reset()))).toBe(false)
		expect(
			isUnprocessed(
				new Error('failed', { cause: aggregate(connectionRefused(), aggregate(connectionRefused())) }),
			),
		).toBe(true)
		expect(isUnprocessed(aggregate(connectionRefused(), aggregate(connectionRefused(), reset())))).toBe(false)
	})
})

describe('an error with endless parts proves nothing', () => {
	test('an AggregateError that contains itself', () => {
		const cyclic = new AggregateError([])
		cyclic.errors.push(connectionRefused(), cyclic)
		expect(isUnprocessed(cyclic)).toBe(false)
	})

	test('an AggregateError whose part has it as a cause', () => {
		const cyclic = new AggregateError([])
		cyclic.errors.push(new Error('part', { cause: cyclic }))
		expect(isUnprocessed(cyclic)).toBe(false)
	})

	test('an error that is its own cause', () => {
		const own = new Error('own')
		own.cause = own
		expect(isUnprocessed(own)).toBe(false)
	})

	test('parts that are shared over 24 levels are not visited 16 million times', () => {
		let reads = 0
		const leaf = {
			get code() {
				reads++
				return 'ECONNREFUSED'
			},
		}
		let shared: unknown = leaf
		for (let level = 0; level < 24; level++) shared = new AggregateError([shared, shared])
		expect(isUnprocessed(shared)).toBe(false)
		expect(reads).toBeLessThan(100)
	})

	test('a million parts', () => {
		expect(isUnprocessed(new AggregateError(new Array(1_000_000).fill(connectionRefused())))).toBe(false)
	})
})

test('for any graph of errors, at most 100 are examined', () => {
	fc.assert(
		fc.property(
			fc.array(fc.array(fc.nat(30), { maxLength: 6 }), { minLength: 1, maxLength: 30 }),
			(links) => {
				let examined = 0
				const nodes = links.map(() => ({
					errors: [] as unknown[],
					get code() {
						examined++
						return 'UNKNOWN'
					},
				}))
				for (const [index, targets] of links.entries())
					for (const target of targets) nodes[index]?.errors.push(nodes[target % nodes.length])
				isUnprocessed(nodes[0])
				expect(examined).toBeLessThanOrEqual(100)
			},
		),
	)
})
