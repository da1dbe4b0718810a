/**
 * Sends the messages of an outbox. Any number of relays can run, in one process or many: a claimed message
 * belongs to its relay until the lease ends, so a crashed relay costs time and loses nothing.
 */
import { YaokiError } from '../../core/errors/errors.ts'
import { Emitter } from '../../core/observe/emitter.ts'
import type { Observable, Observation } from '../../core/observe/observation.ts'
import { checkRange, invalidArgument, invalidOption } from '../../core/options/schema.ts'
import { withTimeout } from '../../core/runtime/sleep.ts'
import type { Destination, MessageHandler } from '../destinations/destination.ts'
import type { RelayEvent, RelayListener } from '../events/relay-events.ts'
import type { DeliveredFor, Topics } from '../message/message.ts'
import type { Outbox } from '../outbox.ts'
import { DestinationStates, type Destinations } from './destination-state.ts'
import { type RelayOptions, type RelaySettings, readRelayOptions } from './options.ts'
import { RelayContext } from './relay-context.ts'
import { RelayRun } from './relay-run.ts'

/** With the time to abort handlers, to write results and to clean up, a stop takes at most 8 s. */
const STOP_TIMEOUT_MS = 5_000

/**
 * Handlers by destination. A name that ends with `*` serves all destinations that start with the rest and have no
 * more specific entry: `'*'` serves all others.
 */
export type DestinationsFor<T extends Topics, Name extends string> = {
	readonly [N in Name]: MessageHandler<DeliveredFor<T, N>> | Destination<DeliveredFor<T, N>>
}

/**
 * How many messages a relay has in flight, and how many it has sent. Read it from `relay.stats`. Counts are
 * since its start and stay readable after its stop.
 */
export interface RelayStats {
	readonly inFlight: number
	/** Claimed and not started. */
	readonly queued: number
	readonly sent: number
	readonly failed: number
	readonly dead: number
}

/**
 * Delivers the messages of an `Outbox` to its `destinations`, with retries that survive a restart of the
 * process.
 *
 * @example
 * const relay = new Relay(outbox, {
 * 	destinations: { 'order.created': async (message) => billing.charge(message.payload, message.id) },
 * })
 * await relay.start()
 * process.once('SIGTERM', () => relay.stop())
 */
export class Relay<T extends Topics = Topics, Name extends string = string> implements Observable {
	readonly name: string
	readonly #outbox: Outbox<T>
	readonly #settings: RelaySettings
	readonly #destinations: Destinations
	readonly #emitter: Emitter<RelayEvent>
	#run: RelayRun | undefined
	/** The context of the current or the last run, for `stats`. */
	#latest: RelayContext | undefined
	#starting: Promise<void> | undefined
	#stopping: Promise<void> | undefined

	constructor(
		outbox: Outbox<T>,
		options: RelayOptions & { readonly destinations: DestinationsFor<T, Name> },
	) {
		if (typeof outbox?.attach !== 'function') invalidArgument('outbox', outbox, 'an Outbox')
		this.#outbox = outbox
		this.#settings = readRelayOptions(options)
		this.name = this.#settings.name
		const { destinations, onEvent } = options
		if (Object(destinations) !== destinations)
			invalidOption('destinations', destinations, "an object such as { 'order.created': handler }")
		this.#destinations = destinations
		// Rejects invalid destinations now, and not in `start`.
		new DestinationStates(this.#destinations, this.#settings)
		this.#emitter = new Emitter(this.name, this.#settings.runtime)
		if (onEvent) this.#emitter.subscribe(onEvent)
	}

	get stats(): RelayStats {
		const { sent = 0, failed = 0, dead = 0 } = this.#latest ?? {}
		const { inFlight = 0, queued = 0 } = this.#run ?? {}
		return { inFlight, queued, sent, failed, dead }
	}

	/** Calls the listener with every event; returns a function that unsubscribes it. */
	subscribe(listener: RelayListener): () => void {
		return this.#emitter.subscribe(listener)
	}

	'~observable'(): object {
		const observation: Observation = { kind: 'relay', events: this.#emitter, stats: () => this.stats }
		return observation
	}

	/**
	 * Starts to send. Rejects if the database cannot be reached, does not respond within 30 seconds, or its
	 * tables are missing.
	 */
	async start(): Promise<void> {
		if (this.#run) {
			const isRunning = this.#stopping === undefined
			const state = isRunning ? 'already running. Call stop()' : 'stopping. Await stop()'
			throw new YaokiError('YAOKI_RELAY_RUNNING', `The relay is ${state} before start().`)
		}
		this.#starting = this.#start()
		try {
			await this.#starting
		} finally {
			this.#starting = undefined
		}
	}

	async #start(): Promise<void> {
		const { store, keepsHistory, historyForMs, auditForMs } = this.#outbox
		const owner = `${this.name}-${process.pid}-${crypto.randomUUID().slice(0, 8)}`
		const context = new RelayContext(store, this.#settings, owner, keepsHistory, this.#emitter)
		const run = new RelayRun(context, new DestinationStates(this.#destinations, this.#settings))
		this.#latest = context
		this.#run = run
		try {
			await run.start(historyForMs, auditForMs)
		} catch (error) {
			await run.cleanUp()
			this.#run = undefined
			throw error
		}
		run.addCleanup(
			this.#outbox.attach({
				wake: () => run.wake(),
				serves: (destination) => run.serves(destination),
				stop: () => this.stop(),
			}),
		)
		context.emitter.emit({ type: 'relay_started' })
		run.wake()
	}

	/**
	 * Stops the relay: claims nothing more, releases queued messages without counting an attempt, waits for
	 * messages in flight and writes their results. Handlers that take longer than `timeoutMs` (default 5,000)
	 * are aborted, and their messages return to the queue. The stop ends at most 3 seconds later, even if the
	 * database does not respond: after 8 seconds by default, because Docker kills a container after 10.
	 */
	stop({ timeoutMs = STOP_TIMEOUT_MS }: { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
		checkRange('timeoutMs', timeoutMs)
		if (!this.#run) return this.#stopping ?? Promise.resolve()
		this.#stopping ??= this.#stop(timeoutMs).finally(() => {
			this.#run = undefined
			this.#stopping = undefined
		})
		return this.#stopping
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.stop()
	}

	async #stop(timeoutMs: number): Promise<void> {
		// If the start fails or takes too long, `start` rejects and cleans up itself.
		const starting = this.#starting?.catch(() => {})
		const { runtime } = this.#settings
		const endsAt = runtime.now() + timeoutMs
		if (starting !== undefined) await withTimeout(runtime, timeoutMs, starting)
		if (this.#starting !== undefined) {
			this.#run?.abandonStart()
			await starting
		}
		const run = this.#run
		if (!run) return
		run.context.emitter.emit({ type: 'relay_stopping' })
		await run.stop(Math.max(0, endsAt - runtime.now()))
		await run.cleanUp()
		run.context.emitter.emit({ type: 'relay_stopped' })
	}
}
