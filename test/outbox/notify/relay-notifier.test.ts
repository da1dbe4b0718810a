import { describe, expect, test } from 'vitest'
import type { LocalRelay } from '../../../src/outbox/notify/relay-notifier.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { virtualRuntime } from '../../../src/testing/index.ts'
import { fakeStore } from '../fake-store.ts'

function setup() {
	const store = fakeStore()
	const runtime = virtualRuntime()
	return { store, runtime, outbox: new Outbox({ store, runtime, outsideTransaction: 'allow' }) }
}

class Relay implements LocalRelay {
	readonly #names: readonly string[]
	woken = 0

	constructor(...names: string[]) {
		this.#names = names
	}

	serves(destination: string): boolean {
		return this.#names.includes(destination)
	}

	wake(): void {
		this.woken++
	}

	async stop(): Promise<void> {}
}

describe('after a commit', () => {
	test('wakes the local relay that serves the destination and does not use the database', async () => {
		const { outbox, store } = setup()
		const [billing, mail] = [new Relay('billing'), new Relay('mail')]
		outbox.attach(billing)
		outbox.attach(mail)
		await outbox.enqueue({ topic: 'a', destination: 'billing', payload: 1 })
		expect([billing.woken, mail.woken, store.notifications]).toEqual([1, 0, 0])
	})

	test('notifies through the database when no local relay serves the destination', async () => {
		const { outbox, store } = setup()
		const relay = new Relay('mail')
		outbox.attach(relay)
		await outbox.enqueue({ topic: 'billing', payload: 1 })
		expect([relay.woken, store.notifications]).toEqual([0, 1])
	})

	test('a batch for local and remote relays wakes each once', async () => {
		const { outbox, store, runtime } = setup()
		const relay = new Relay('mail', 'sms')
		outbox.attach(relay)
		const topics = ['mail', 'billing', 'sms', 'billing', 'mail']
		await outbox.enqueue(topics.map((topic) => ({ topic, payload: 1 })))
		await runtime.runUntilIdle()
		expect([relay.woken, store.notifications]).toEqual([1, 1])
	})

	test('a detached relay is not woken', async () => {
		const { outbox, store } = setup()
		const relay = new Relay('mail')
		const detach = outbox.attach(relay)
		detach()
		detach()
		await outbox.enqueue({ topic: 'mail', payload: 1 })
		expect([relay.woken, store.notifications]).toEqual([0, 1])
	})

	test('a failed notification does not fail the enqueue', async () => {
		const { outbox, store, runtime } = setup()
		store.notifyError = new Error('too many connections')
		await outbox.enqueue({ topic: 'mail', payload: 1 })
		await runtime.runUntilIdle()
		expect(store.notifications).toBe(1)
		expect(store.rows).toHaveLength(1)
	})
})

test('wake() wakes local relays and those of other processes', () => {
	const { outbox, store } = setup()
	const relays = [new Relay('a'), new Relay('b')]
	for (const relay of relays) outbox.attach(relay)
	outbox.wake()
	expect(relays.map(({ woken }) => woken)).toEqual([1, 1])
	expect(store.notifications).toBe(1)
})

test('an uncommitted message wakes no relay', async () => {
	const { outbox, runtime } = setup()
	const relay = new Relay('a')
	outbox.attach(relay)
	const tx = { query: () => Promise.resolve({ rows: [] }), isTransaction: true }
	await outbox.enqueue({ topic: 'a', payload: 1 }, { tx })
	await runtime.advance(50)
	expect(relay.woken).toBe(0)
	tx.isTransaction = false
	await runtime.advance(100)
	expect(relay.woken).toBe(1)
})

test('notification timers do not keep the process alive', async () => {
	const { store } = setup()
	const kinds: unknown[] = []
	const clock = virtualRuntime()
	const runtime = {
		now: () => clock.now(),
		wallNow: () => clock.wallNow(),
		random: () => clock.random(),
		setTimer(ms: number, fn: () => void, kind?: string) {
			kinds.push(kind)
			return clock.setTimer(ms, fn)
		},
	}
	const outbox = new Outbox({ store, runtime, outsideTransaction: 'allow' })
	const query = () => Promise.resolve({ rows: [] })
	await outbox.enqueue({ topic: 'a', payload: 1 }, { tx: { query } })
	await outbox.enqueue({ topic: 'a', payload: 1 }, { tx: Object.assign({ query }, { isTransaction: true }) })
	await clock.runUntilIdle()
	expect(new Set(kinds)).toEqual(new Set(['housekeeping']))
})
