import { expect, test } from 'vitest'
import type { RelayOptions } from 'yaoki/outbox'
import { Process } from './process.ts'
import { type World, world } from './world.ts'

const OPTIONS = { leaseMs: 2_000, pollMs: 500 }

/** Runs processes one after another, each until it crashes, with one poison message among others. */
async function generations(here: World, count: number, options: RelayOptions = {}) {
	const alone: boolean[] = []
	let died = 0
	for (let n = 0; n < count; n++) {
		const one = new Process(here)
		const under = new Set<string>()
		const deliver = here.sends(async ({ id, payload }) => {
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
		await here.clock.advance(15_000)
		await one[Symbol.asyncDispose]()
	}
	return { alone, died }
}

test('messages of a crashed relay are sent after its lease expired', async () => {
	await using here = await world()
	await here.enqueue(20)
	const one = new Process(here)
	await one.relay({ jobs: here.sends(() => one.pause(60_000)) }, OPTIONS)
	await here.clock.advance(500)
	one.kill()
	await here.relay({ jobs: here.sends() }, OPTIONS)
	await here.clock.advance(1_000)
	expect(here.eventsOf('relay_sent')).toHaveLength(0)
	await here.clock.advance(2_000)
	expect(here.eventsOf('relay_sent')).toHaveLength(20)
})

test('a poison message runs alone from the third attempt on, and becomes a dead letter after five crashes alone; the others are sent', async () => {
	await using here = await world()
	await here.enqueue(4)
	const [killer = ''] = await here.enqueue(1, { payload: 'killer' })
	await here.enqueue(4)
	const { alone, died } = await generations(here, 9)
	expect(died).toBe(7)
	expect(alone).toEqual([false, false, true, true, true, true, true])
	expect(await here.outbox.find(killer)).toMatchObject({ status: 'dead', cause: 'crashed', crashes: 7 })
	expect((await here.outbox.list()).map(({ id }) => id)).toEqual([killer])
})

test('maxCrashes limits the number of crashes alone', async () => {
	await using here = await world()
	const [killer = ''] = await here.enqueue(1, { payload: 'killer' })
	await here.enqueue(4)
	const { died, alone } = await generations(here, 5, { maxCrashes: 1 })
	expect(died).toBe(3)
	expect(alone.filter(Boolean)).toHaveLength(1)
	expect(await here.outbox.find(killer)).toMatchObject({ status: 'dead', cause: 'crashed' })
})

test('a failure without a crash resets the count', async () => {
	await using here = await world()
	const [id = ''] = await here.enqueue(1)
	const one = new Process(here)
	await one.relay({ jobs: () => one.pause(60_000) }, OPTIONS)
	await here.clock.advance(500)
	one.kill()
	const fails = () => {
		throw new Error('no')
	}
	await here.relay({ jobs: fails }, { ...OPTIONS, circuitBreaker: false, retry: { baseDelayMs: 60_000 } })
	await here.clock.advance(4_000)
	expect(await here.outbox.find(id)).toMatchObject({ status: 'pending', attempts: 2, crashes: 0 })
})

test('a permanently hung handler blocks neither poison candidates nor other messages', async () => {
	// Regression: the candidate waited forever for the hung handler, and nothing else was started.
	await using here = await world()
	await here.enqueue(1, { topic: 'hangs' })
	const notBefore = new Date(here.clock.wallNow() + 2_000)
	await here.enqueue(1, { payload: 'candidate', notBefore } as object)
	here.tx.prepare(`UPDATE yaoki_outbox SET crashes = 2 WHERE destination = 'jobs'`).all()
	await here.relay(
		{ hangs: () => new Promise(() => {}), jobs: here.sends() },
		{ ...OPTIONS, timeoutMs: 1_000 },
	)
	await here.clock.advance(3_000)
	await here.enqueue(5)
	await here.clock.advance(5_000)
	expect(here.payloads()).toContain('candidate')
	expect(here.sendings).toHaveLength(6)
})

test('poison candidates obey rate and concurrency of their destination', async () => {
	await using here = await world()
	await here.enqueue(6)
	here.tx.prepare('UPDATE yaoki_outbox SET crashes = 2').all()
	const rate = { limit: 1, intervalMs: 2_000, burst: 1 }
	await here.relay({ jobs: { deliver: here.sends(), rate } }, OPTIONS)
	await here.clock.advance(7_000)
	expect(here.sendings.length).toBeLessThanOrEqual(5)
	await here.clock.advance(20_000)
	expect(here.sendings).toHaveLength(6)
})

test('runs all poison candidates without a pause if nothing else is due', async () => {
	// Regression: a relay ran candidates for a quarter of a second per poll, and idled for the rest.
	await using here = await world()
	await here.enqueue(100)
	here.tx.prepare('UPDATE yaoki_outbox SET crashes = 2').all()
	await here.relay({ jobs: here.sends(() => here.pause(50)) }, OPTIONS)
	await here.clock.advance(100 * 50 + 500)
	expect(here.sendings).toHaveLength(100)
})

test('finds poison candidates while all slots of their destination are occupied', async () => {
	await using here = await world()
	const notBefore = new Date(here.clock.wallNow() + 3_000)
	await here.enqueue(1, { payload: 'candidate', notBefore } as object)
	here.tx.prepare('UPDATE yaoki_outbox SET crashes = 2').all()
	await here.enqueue(200)
	await here.relay({ jobs: { deliver: here.sends(() => here.pause(400)), maxConcurrent: 1 } }, OPTIONS)
	await here.clock.advance(6_000)
	expect(here.payloads()).toContain('candidate')
})
