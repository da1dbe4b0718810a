/**
 * Sends what is in an outbox. Any number of relays work side by side, in one process or in many: what one has claimed is its own until its
 * lease ends, so that the death of a relay costs time and nothing else.
 */
import { checkRange, invalidOption } from '../../core/options/schema.ts'
import type { Destination, Handler } from '../destinations/destination.ts'
import type { DeliveredFor, Topics } from '../message/message.ts'
import type { Outbox } from '../outbox.ts'
import { SchemaVersionError } from '../store/errors.ts'
import { withTimeout } from '../timing/sleep.ts'
import { DestinationStates, type Destinations } from './destination-discovery.ts'
import type { RelayListener } from './events.ts'
import { HistoryKeeper } from './history-keeper.ts'
import type { RelayOptions } from './options.ts'
import { RelayContext } from './relay-context.ts'
import { RelayRun } from './relay-run.ts'
import { type RelaySettings, readRelayOptions } from './settings.ts'

/** Where messages go, by name; `'*'` is for all that have no entry of their own. */
export type DestinationsFor<T extends Topics, Name extends string> = {
	readonly [N in Name]: Handler<DeliveredFor<T, N>> | Destination<DeliveredFor<T, N>>
}

/** What a relay is doing at present. */
export interface RelayStats {
	readonly inFlight: number
	/** Claimed and not started. */
	readonly waiting: number
	/** Since it was started, also when it was stopped. */
	readonly sent: number
	readonly failed: number
	readonly dead: number
}

/** So long a database is waited for that need not answer any more. */
const LEAVE_MS = 1_000

/** What belongs to one run. */
interface Run {
	readonly context: RelayContext
	readonly session: RelayRun
	/** Undoes what the start has done. */
	readonly undo: (() => unknown)[]
}

/**
 * Delivers the messages of an outbox, with retries that outlive the process.
 *
 * @example
 * const relay = new Relay(outbox, {
 * 	destinations: { 'order.created': async (message) => billing.charge(message.payload, message.id) },
 * })
 * await relay.start()
 * process.once('SIGTERM', () => relay.stop())
 */
export class Relay<T extends Topics = Topics, Name extends string = string> {
	readonly name: string
	readonly #outbox: Outbox<T>
	readonly #settings: RelaySettings
	readonly #destinations: Destinations
	readonly #listeners = new Set<RelayListener>()
	#run: Run | undefined
	/** Of the run that is, or was the last: what it has counted is still asked for when it is over. */
	#latest: RelayContext | undefined
	#starting: Promise<void> | undefined
	#stopping: Promise<void> | undefined

	constructor(
		outbox: Outbox<T>,
		options: RelayOptions & { readonly destinations: DestinationsFor<T, Name> },
	) {
		if (typeof outbox?.attach !== 'function') invalidOption('outbox', outbox, 'an Outbox')
		this.#outbox = outbox
		this.#settings = readRelayOptions(options)
		this.name = this.#settings.name
		const { destinations, onEvent } = options
		if (Object(destinations) !== destinations)
			invalidOption('destinations', destinations, "an object, such as { 'order.created': handler }")
		this.#destinations = destinations
		// So that what can not work is refused here and not at the start.
		new DestinationStates(this.#destinations, this.#settings)
		if (onEvent) this.#listeners.add(onEvent)
	}

	get stats(): RelayStats {
		const { session } = this.#run ?? {}
		const { sent = 0, failed = 0, dead = 0 } = this.#latest ?? {}
		const lanes = [...(session?.lanes.byName.values() ?? [])]
		return {
			...{ sent, failed, dead },
			inFlight: session?.dispatcher.inFlight ?? 0,
			waiting: lanes.reduce((sum, { waiting }) => sum + waiting.length, 0),
		}
	}

	/** Tells every event to a listener, until the function that it answers is called. */
	subscribe(listener: RelayListener): () => void {
		this.#listeners.add(listener)
		return () => this.#listeners.delete(listener)
	}

	/** Begins to send. Rejects when the database can not be reached or its tables are not there. */
	async start(): Promise<void> {
		if (this.#run) invalidOption('start()', 'a relay that runs already', 'one that does not')
		this.#starting = this.#start()
		try {
			await this.#starting
		} finally {
			this.#starting = undefined
		}
	}

	async #start(): Promise<void> {
		const { store, keepsHistory, historyForMs } = this.#outbox
		const owner = `${this.name}-${process.pid}-${crypto.randomUUID().slice(0, 8)}`
		const context = new RelayContext(store, this.#settings, owner, keepsHistory, this.#listeners)
		this.#latest = context
		const session = new RelayRun(context, new DestinationStates(this.#destinations, this.#settings))
		const undo: (() => unknown)[] = []
		this.#run = { context, session, undo }
		try {
			await checkSchema(this.#outbox)
			const wake = () => session.wake()
			const onDeaf = (error: unknown) =>
				context.tell({
					...{ type: 'store_failed', doing: 'listen', retryInMs: this.#settings.pollMs },
					...{ errorType: 'Error', errorMessage: String(error) },
				})
			undo.push(await store.listen(wake, onDeaf))
			await session.begin()
			undo.push(
				this.#outbox.attach({ wake, serves: (name) => session.lanes.serves(name), stop: () => this.stop() }),
			)
			if (keepsHistory && historyForMs !== undefined) {
				const keeper = new HistoryKeeper(context, historyForMs)
				undo.push(() => keeper.stop())
			}
			context.tell({ type: 'relay_started' })
			session.wake()
		} catch (error) {
			await this.#undo(this.#run)
			this.#run = undefined
			throw error
		}
	}

	/**
	 * Stops: claims nothing more, gives back what was not started without burning an attempt, waits for what is under way and writes all of
	 * it down. Handlers that take longer than `timeoutMs` (default 30,000) are aborted.
	 */
	stop({ timeoutMs = 30_000 }: { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
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
		// What is half begun could not be undone. A start that fails has told so to who began it, and undone it itself.
		await this.#starting?.catch(() => {})
		const run = this.#run
		if (!run) return
		run.context.tell({ type: 'relay_stopping' })
		await run.session.end(timeoutMs)
		await this.#undo(run)
		run.context.tell({ type: 'relay_stopped' })
	}

	/** Best effort: what is left behind ends by itself, with its lease. */
	async #undo({ context, undo }: Run): Promise<void> {
		for (const step of [...undo.reverse(), () => context.store.removeRelay(context.owner)]) {
			try {
				await withTimeout(context.runtime, LEAVE_MS, Promise.resolve(step()))
			} catch {
				// The database is away, and that is no reason not to stop.
			}
		}
	}
}

async function checkSchema({ store }: Pick<Outbox, 'store'>): Promise<void> {
	const needed = store.migrations.at(-1)?.version ?? 0
	const found = await store.schemaVersion()
	if (found !== needed) throw new SchemaVersionError(found, needed)
}
