import { describe, expect, it } from 'vitest'
import { Deadline, RateLimitedError, TimeoutError } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'

describe('durations in messages', () => {
	it('are rounded', () => {
		expect(new TimeoutError('a', 299.9143670000001).message).toBe('a: no result within 300 ms')
		expect(new RateLimitedError('a', 299.9143670000001).message).toContain('retry in 300 ms')
		const runtime = virtualRuntime()
		const short = () => Deadline.after(20.123456, { runtime }).child()
		expect(short).toThrow('too little time left: 20 ms, with a margin of 100 ms')
	})
})
