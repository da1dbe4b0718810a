import { expect, test, vi } from 'vitest'
import { TimeoutError } from '../../../src/core/errors/errors.ts'
import type { ClaimRequest } from '../../../src/outbox/store/rows.ts'
import { setup } from './setup.ts'

const sizeOf = ({ targets }: ClaimRequest): number => targets.reduce((sum, { limit }) => sum + limit, 0)

test('halves claims that time out, emits the new limit, and claims everything again when they succeed', async () => {
	await using system = await setup()
	const { claim } = system.store
	const sizes: number[] = []
	let longest = 3
	system.store.claim = (request) => {
		if (request.poisonCandidates) return claim(request)
		sizes.push(sizeOf(request))
		return sizeOf(request) > longest ? Promise.reject(new TimeoutError('claim', 10_000)) : claim(request)
	}
	await system.enqueue(40)
	await system.relay({ jobs: system.sends() }, { maxConcurrent: 16 })
	await system.clock.advance(10_000)
	const limits = system
		.eventsOf('relay_store_error')
		.map(({ operation, claimLimit }) => [operation, claimLimit])
	expect(limits.slice(0, 3)).toEqual([
		['claim', 8],
		['claim', 4],
		['claim', 2],
	])
	expect(sizes.slice(0, 4)).toEqual([16, 8, 4, 2])
	expect(system.payloads().length).toBeGreaterThan(0)
	longest = Infinity
	await system.enqueue(40)
	await system.clock.advance(10_000)
	expect(new Set(system.payloads()).size).toBe(80)
	expect(sizes.at(-1)).toBeGreaterThanOrEqual(16)
})

test('a reduced claim of ordered messages keeps the keys that it leaves out', async () => {
	await using system = await setup()
	const { claim } = system.store
	system.store.claim = (request) =>
		!request.poisonCandidates && sizeOf(request) > 2
			? Promise.reject(new TimeoutError('claim', 10_000))
			: claim(request)
	for (let round = 0; round < 3; round++)
		for (const key of ['a', 'b', 'c', 'd', 'e']) await system.enqueue(1, { key })
	await system.relay({ jobs: { deliver: system.sends(), order: true } })
	await system.clock.advance(120_000)
	expect(system.payloads()).toHaveLength(15)
})

test('after the timeout of the relay a claim is aborted, and repeated only when it has ended', async () => {
	await using system = await setup()
	const { claim } = system.store
	const running: (() => void)[] = []
	let calls = 0
	system.store.claim = (request) => {
		if (request.poisonCandidates || calls++ > 0) return claim(request)
		return new Promise((_, reject) => {
			// The database takes half a second to cancel it.
			const end = () => void system.timer(500, () => running.push(() => {}) && reject(new Error('cancelled')))
			request.signal?.addEventListener('abort', end)
		})
	}
	await system.enqueue(1)
	await system.relay({ jobs: system.sends() })
	await system.clock.advance(30_000)
	expect(calls).toBe(1)
	expect(running).toHaveLength(0)
	await system.clock.advance(499)
	expect(calls).toBe(1)
	await system.clock.advance(10_000)
	expect(running).toHaveLength(1)
	expect(calls).toBeGreaterThan(1)
	expect(system.payloads()).toHaveLength(1)
	expect(system.eventsOf('relay_store_error')[0]).toMatchObject({ operation: 'claim', timeoutMs: 30_000 })
})

test('a stop aborts the claim that is running', async () => {
	await using system = await setup()
	const aborted = vi.fn()
	const { claim } = system.store
	system.store.claim = (request) =>
		request.poisonCandidates
			? claim(request)
			: new Promise(() => {
					request.signal?.addEventListener('abort', aborted)
				})
	const relay = await system.relay({ jobs: system.sends() })
	await system.clock.advance(100)
	const stopped = relay.stop({ timeoutMs: 1_000 })
	await system.clock.advance(5_000)
	await stopped
	expect(aborted).toHaveBeenCalledTimes(1)
})
