import { describe, expect, test } from 'vitest'
import { BodyCollector } from '../../../src/idempotency/response/body-collector.ts'

const collect = (maxBytes: number, ...chunks: number[][]) => {
	const collected = new BodyCollector(maxBytes)
	for (const chunk of chunks) collected.add(Uint8Array.from(chunk))
	return collected
}

describe('a body collector', () => {
	test('returns an empty body without chunks', () => {
		expect(collect(0).joined()).toEqual(new Uint8Array(0))
	})

	test('returns a single chunk without a copy', () => {
		const collected = new BodyCollector(10)
		const chunk = Uint8Array.from([1, 2])
		collected.add(chunk)
		expect(collected.joined()).toBe(chunk)
	})

	test('joins chunks in their order, empty ones included', () => {
		expect(collect(4, [1], [], [2, 3], [4]).joined()).toEqual(Uint8Array.from([1, 2, 3, 4]))
	})

	test('accepts a body of exactly the limit', () => {
		const collected = collect(3, [1, 2], [3])
		expect(collected.isTooLarge).toBe(false)
		expect(collected.joined()).toEqual(Uint8Array.from([1, 2, 3]))
	})

	test('returns undefined one byte above the limit, also after further chunks', () => {
		const collected = collect(3, [1, 2], [3, 4])
		expect(collected.isTooLarge).toBe(true)
		collected.add(new Uint8Array(0))
		expect(collected.joined()).toBeUndefined()
	})
})
