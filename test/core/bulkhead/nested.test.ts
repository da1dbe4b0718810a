import { describe, expect, test } from 'vitest'
import { adaptiveBulkhead, bulkhead, pipeline, retry, type YaokiEvent } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { exceptCalls } from '../../support/scenario.ts'

const kinds = [
	['bulkhead', () => bulkhead({ name: 'db', maxConcurrent: 1 })],
	['adaptiveBulkhead', () => adaptiveBulkhead({ name: 'db', maxConcurrent: 1 })],
] as const

describe.each(kinds)('the same %s twice', (_, create) => {
	test('is rejected at construction in a pipeline and in nested pipelines', () => {
		const slots = create()
		const error = expect.objectContaining({
			name: 'InvalidArgumentError',
			argument: 'policies',
			received: 'db',
		})
		expect(() => pipeline(slots, retry(), slots)).toThrow(error)
		expect(() => pipeline(slots, pipeline(retry(), slots))).toThrow(error)
		expect(() => pipeline(slots, retry(), create())).not.toThrow()
	})

	test('is rejected instead of queued in a call inside a call, connected by the context', async () => {
		const slots = create()
		const events: YaokiEvent[] = []
		slots.subscribe(exceptCalls((event) => events.push(event)))
		const nested = slots.execute((context) => slots.execute(() => 'never called', context))
		await expect(nested).rejects.toMatchObject({
			name: 'BulkheadRejectedError',
			code: 'YAOKI_BULKHEAD_REJECTED',
			reason: 'nested-call',
			policy: 'db',
		})
		expect(events).toMatchObject([{ type: 'rejected', reason: 'nested-call', emitter: 'db' }])
		expect(slots.stats).toMatchObject({ concurrent: 0, queued: 0 })
	})
})

describe('a call inside a call of the same bulkhead', () => {
	test('is rejected through other policies and calls in between', async () => {
		const slots = bulkhead({ maxConcurrent: 1 })
		const outer = pipeline(slots, retry({ maxRetries: 0 }))
		const between = retry({ maxRetries: 0 })
		const nested = outer.execute((context) =>
			between.execute((inner) => outer.execute(() => 1, { parent: inner, name: 'inner' }), context),
		)
		await expect(nested).rejects.toMatchObject({ reason: 'nested-call' })
	})

	test('gets a free slot', async () => {
		const slots = bulkhead({ maxConcurrent: 2 })
		expect(await slots.execute((context) => slots.execute(() => slots.stats.concurrent, context))).toBe(2)
	})

	test('queues without the context, because the bulkhead cannot know', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, queueTimeoutMs: 100, runtime: clock })
		const nested = slots.settle(() => slots.execute(() => 1))
		expect(slots.stats).toMatchObject({ concurrent: 1, queued: 1 })
		await clock.advance(100)
		expect(await nested).toMatchObject({ ok: false, error: { reason: 'queue-timeout' } })
	})

	test('queues after the outer call has ended', async () => {
		const slots = bulkhead({ maxConcurrent: 1 })
		const context = await slots.execute((outer) => outer)
		let end = () => {}
		const other = slots.execute(() => new Promise<void>((resolve) => (end = resolve)))
		const later = slots.execute(() => 'started', context)
		expect(slots.stats).toMatchObject({ concurrent: 1, queued: 1 })
		end()
		await other
		expect(await later).toBe('started')
	})

	test('queues for another bulkhead', async () => {
		const [outer, inner] = [bulkhead({ maxConcurrent: 1 }), bulkhead({ maxConcurrent: 1 })]
		let end = () => {}
		const other = inner.execute(() => new Promise<void>((resolve) => (end = resolve)))
		const nested = outer.execute((context) => inner.execute(() => 'started', context))
		end()
		await other
		expect(await nested).toBe('started')
	})
})
