import { describe, expect, test } from 'vitest'
import { type BufferLimit, KeptMessages } from '../../../src/grpc/policy/kept-messages.ts'

class Kept extends KeptMessages {
	keep(bytes: number): boolean {
		return this.reserve(bytes)
	}
}

function setup() {
	const limit: BufferLimit = { perCall: 10, total: 15, usedBytes: 0 }
	return { limit, first: new Kept(limit), second: new Kept(limit) }
}

describe('the messages that are kept for retries', () => {
	test('fit up to the limit of their call', () => {
		const { limit, first } = setup()
		expect([first.keep(4), first.keep(6), first.keep(1)]).toEqual([true, true, false])
		expect(limit.usedBytes).toBe(10)
	})

	test('fit up to the limit of all calls', () => {
		const { limit, first, second } = setup()
		expect([first.keep(10), second.keep(6), second.keep(5)]).toEqual([true, false, true])
		expect(limit.usedBytes).toBe(15)
	})

	test('free their space once', () => {
		const { limit, first, second } = setup()
		first.keep(7)
		second.keep(5)
		first.releaseSpace()
		first.close()
		expect(limit.usedBytes).toBe(5)
		expect(first.keep(10)).toBe(true)
	})
})
