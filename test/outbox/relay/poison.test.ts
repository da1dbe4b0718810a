import { expect, test } from 'vitest'
import type { RelayOptions } from 'yaoki/outbox'
import { Process } from './process.ts'
import { setup, type TestSystem } from './setup.ts'

const OPTIONS = { leaseMs: 2_000, pollMs: 500 }

/** Runs processes one after another, each until it crashes, with one poison message among others. */
async function generations(system: TestSystem, count: number, options: RelayOptions = {}) {
	const alone: boolean[] = []
	let died = 0
	for (let n = 0; n < count; n++) {
		const one = new Process(system)
		const under = new Set<string>()
		const deliver = system.sends(async ({ id, payload }) => {
			under.add(id)
			if (payload === 'killer') {
				await one.pause(50)
				alone.push(under.size === 1)
				died++
				one.kill()
			}
			await one.pause(200)
			under.delete(id)
		})
		await one.relay({ jobs: { deliver, maxConcurrent: 3 } }, { ...OPTIONS, ...options })
		await system.clock.advance(15_000)
		await one[Symbol.asyncDispose]()
	}
	return { alone, died }
}

test('messages of a crashed relay are sent after its lease expired', async () => {
	await using system = await setup()
	await system.enqueue(20)
	const one = new Process(system)
	await one.relay({ jobs: system.sends(() => one.pause(60_000)) }, OPTIONS)
	await system.clock.advance(500)
	one.kill()
	await system.relay({ jobs: system.sends() }, OPTIONS)
	await system.clock.advance(1_000)
	expect(system.eventsOf('relay_sent')).toHaveLength(0)
	await system.clock.advance(2_000)
	expect(system.eventsOf('relay_sent')).toHaveLength(20)
})

test('a poison message runs alone from the third attempt on, and becomes a dead letter after five crashes alone; the others are sent', async () => {
	await using system = await setup()
	await system.enqueue(4)
	const [killer = ''] = await system.enqueue(1, { payload: 'killer' })
	await system.enqueue(4)
	const { alone, died } = await generations(system, 9)
	expect(died).toBe(7)
	expect(alone).toEqual([false, false, true, true, true, true, true])
	expect(await system.outbox.find(killer)).toMatchObject({ status: 'dead', cause: 'crashed', crashes: 7 })
	expect((await system.outbox.list()).map(({ id }) => id)).toEqual([killer])
})

test('maxCrashes limits the number of crashes alone', async () => {
	await using system = await setup()
	const [killer = ''] = await system.enqueue(1, { payload: 'killer' })
	await system.enqueue(4)
	const { died, alone } = await generations(system, 5, { maxCrashes: 1 })
	expect(died).toBe(3)
	expect(alone.filter(Boolean)).toHaveLength(1)
	expect(await system.outbox.find(killer)).toMatchObject({ status: 'dead', cause: 'crashed' })
})

test('a failure without a crash resets the count', async () => {
	await using system = await setup()
	const [id = ''] = await system.enqueue(1)
	const one = new Process(system)
	await one.relay({ jobs: () => one.pause(60_000) }, OPTIONS)
	await system.clock.advance(500)
	one.kill()
	const fails = () => {
		throw new Error('no')
	}
	await system.relay({ jobs: fails }, { ...OPTIONS, circuitBreaker: false, retry: { baseDelayMs: 60_000 } })
	await system.clock.advance(4_000)
	expect(await system.outbox.find(id)).toMatchObject({ status: 'pending', attempts: 2, crashes: 0 })
})

test('a permanently hung handler blocks neither poison candidates nor other messages', async () => {
	// Regression: the candidate waited forever for the hung handler, and nothing else was started.
	await using system = await setup()
	await system.enqueue(1, { topic: 'hangs' })
	const notBefore = new Date(system.clock.wallNow() + 2_000)
	await system.enqueue(1, { payload: 'candidate', notBefore } as object)
	system.tx.prepare(`UPDATE yaoki_outbox SET crashes = 2 WHERE destination = 'jobs'`).all()
	await system.relay(
		{ hangs: () => new Promise(() => {}), jobs: system.sends() },
		{ ...OPTIONS, timeoutMs: 1_000 },
	)
	await system.clock.advance(3_000)
	await system.enqueue(5)
	await system.clock.advance(5_000)
	expect(system.payloads()).toContain('candidate')
	expect(system.sendings).toHaveLength(6)
})

test('poison candidates obey rate and concurrency of their destination', async () => {
	await using system = await setup()
	await system.enqueue(6)
	system.tx.prepare('UPDATE yaoki_outbox SET crashes = 2').all()
	const rate = { limit: 1, intervalMs: 2_000, burst: 1 }
	await system.relay({ jobs: { deliver: system.sends(), rate } }, OPTIONS)
	await system.clock.advance(7_000)
	expect(system.sendings.length).toBeLessThanOrEqual(5)
	await system.clock.advance(20_000)
	expect(system.sendings).toHaveLength(6)
})

test('runs all poison candidates without a pause if nothing else is due', async () => {
	// Regression: a relay ran candidates for a quarter of a second per poll, and idled for the rest.
	await using system = await setup()
	await system.enqueue(100)
	system.tx.prepare('UPDATE yaoki_outbox SET crashes = 2').all()
	await system.relay({ jobs: system.sends(() => system.pause(50)) }, OPTIONS)
	await system.clock.advance(100 * 50 + 500)
	expect(system.sendings).toHaveLength(100)
})

test('finds poison candidates while all slots of their destination are occupied', async () => {
	await using system = await setup()
	const notBefore = new Date(system.clock.wallNow() + 3_000)
	await system.enqueue(1, { payload: 'candidate', notBefore } as object)
	system.tx.prepare('UPDATE yaoki_outbox SET crashes = 2').all()
	await system.enqueue(200)
	await system.relay({ jobs: { deliver: system.sends(() => system.pause(400)), maxConcurrent: 1 } }, OPTIONS)
	await system.clock.advance(6_000)
	expect(system.payloads()).toContain('candidate')
})
