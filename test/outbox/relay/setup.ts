/**
 * Sets up an outbox in memory and in virtual time, with relays and a record of all sends. The test advances the clock of the store and of every relay.
 */
import {
	type Destination,
	type MessageHandler,
	Outbox,
	Relay,
	type RelayEvent,
	type RelayOptions,
	sqliteOutboxStore,
} from 'yaoki/outbox'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import type { Message } from '../../../src/outbox/message/message.ts'
import type { SqliteOutboxStore } from '../../../src/outbox/store/sqlite/sqlite-store.ts'
import type { SqliteClient } from '../../../src/sql/clients.ts'

/** Destinations of a test. */
export type Destinations = Readonly<Record<string, MessageHandler | Destination>>

interface Sending {
	readonly id: string
	readonly payload: unknown
	readonly attempts: number
	readonly at: number
}

export interface TestSystem extends AsyncDisposable {
	readonly clock: VirtualRuntime
	readonly store: SqliteOutboxStore
	readonly outbox: Outbox
	readonly tx: SqliteClient
	readonly events: RelayEvent[]
	readonly sendings: Sending[]
	/** Returns a handler that records the send and then calls the given function. */
	sends(work?: (message: Message) => unknown): (message: Message) => Promise<void>
	relay(destinations: Destinations, options?: RelayOptions): Promise<Relay>
	enqueue(count: number, message?: Partial<Message>): Promise<string[]>
	payloads(): unknown[]
	/** Resolves after `ms`. */
	pause(ms: number): Promise<void>
	/** The clock's timers, for a custom runtime. */
	readonly timer: VirtualRuntime['setTimer']
	eventsOf<Type extends RelayEvent['type']>(type: Type): Extract<RelayEvent, { type: Type }>[]
}

export async function setup(seed: number | string = 1): Promise<TestSystem> {
	const clock = virtualRuntime({ seed })
	const store = sqliteOutboxStore({ file: ':memory:', clock: () => clock.wallNow(), runtime: clock })
	const outbox = new Outbox({ store, outsideTransaction: 'allow', runtime: clock })
	await outbox.migrate()
	const events: RelayEvent[] = []
	const sendings: Sending[] = []
	const relays: Relay[] = []
	let enqueued = 0
	return {
		clock,
		store,
		outbox,
		events,
		sendings,
		tx: store.database,
		sends(work = () => {}) {
			return async (message) => {
				const { id, payload, attempts } = message
				sendings.push({ id, payload, attempts, at: clock.now() })
				await work(message)
			}
		},
		async relay(destinations, options = {}) {
			const relay = new Relay(outbox, {
				runtime: clock,
				onEvent: (event: RelayEvent) => events.push(event),
				...options,
				destinations,
			})
			relays.push(relay)
			await relay.start()
			return relay
		},
		async enqueue(count, message = {}) {
			const messages = Array.from({ length: count }, () => ({
				topic: 'jobs',
				payload: ++enqueued,
				...message,
			}))
			const receipts = await outbox.enqueue(messages)
			return receipts.map(({ id }) => id)
		},
		pause: (ms) => new Promise((resolve) => void clock.setTimer(ms, resolve)),
		timer: (ms, fn) => clock.setTimer(ms, fn),
		payloads: () => sendings.map(({ payload }) => payload),
		eventsOf: (type) =>
			events.filter((event): event is Extract<RelayEvent, { type: typeof type }> => event.type === type),
		async [Symbol.asyncDispose]() {
			const stopped = Promise.all(relays.map((relay) => relay.stop({ timeoutMs: 1 })))
			await clock.advance(10_000)
			await stopped
			await outbox.close()
		},
	}
}
