import { expect, test } from 'vitest'
import { circuitBreaker } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'

test('200,000 calls leave nothing on the heap', () => {
	const clock = virtualRuntime()
	const breaker = circuitBreaker({ runtime: clock, errorRateThreshold: 0.9 })
	const heap = () => {
		globalThis.gc?.()
		return process.memoryUsage().heapUsed
	}
	const work = (_: unknown, done: (error?: unknown) => void) => done()
	const round = (count: number) => {
		for (let i = 0; i < count; i++) {
			clock.run(breaker, work, () => {})
			if (i % 100 === 0) clock.runTimers(1)
		}
	}
	round(10_000)
	const before = heap()
	round(200_000)
	expect(heap() - before).toBeLessThan(1_000_000)
	expect(breaker.stats.failureCount).toBe(0)
})
