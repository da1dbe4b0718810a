import { expect, test } from 'vitest'
import { IncidentReader } from '../../../src/sim/incident/reader.ts'

test('stores a few numbers per line, not the line', () => {
	const reader = new IncidentReader()
	const event = { type: 'retry_success', emitter: 'retry', call: 'load user', attempts: 1, durationMs: 20 }
	const add = (count: number) => {
		for (let index = 0; index < count; index++)
			reader.add(JSON.stringify({ ...event, callId: `call ${index}`, timestamp: 1e12 + index }))
	}
	add(1_000)
	globalThis.gc?.()
	const { heapUsed, arrayBuffers } = process.memoryUsage()
	add(100_000)
	globalThis.gc?.()
	const after = process.memoryUsage()
	const grown = after.heapUsed + after.arrayBuffers - heapUsed - arrayBuffers
	// Five numbers of 8 bytes per line, and a margin for growth.
	expect(grown).toBeLessThan(100_000 * 100)
	expect(reader.finish().summary.calls.total).toBe(101_000)
})
