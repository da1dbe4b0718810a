/**
 * A relay from its start to its stop: creates the parts and ends them in order. Calls go one way: RelayRun ->
 * Claimer, Heartbeat -> PoisonDetection -> Dispatcher -> SharedBreaker -> Settler -> RelayContext. Parts
 * below wake the loop by the WakeSignal.
 */
import { TimeoutError } from '../../core/errors/errors.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { withTimeout } from '../../core/runtime/sleep.ts'
import { OutboxSchemaError } from '../store/errors.ts'
import { Claimer } from './claimer.ts'
import type { DestinationStates } from './destination-state.ts'
import { Dispatcher, type RelayParts } from './dispatcher.ts'
import { RelayStoppedError } from './handler-signal.ts'
import { Heartbeat } from './heartbeat.ts'
import type { RelayContext } from './relay-context.ts'
import { Settler } from './settler.ts'
import { SharedBreaker } from './shared-breaker.ts'
import { WakeSignal } from './wake-signal.ts'

/** How long aborted handlers may take to end. */
const ABORT_GRACE_MS = 1_000
/** How long the cleanup may wait for the database. */
const CLEANUP_TIMEOUT_MS = 1_000
/** A database that accepts connections and does not respond must not hang the start of a process. */
const START_TIMEOUT_MS = 30_000

const CLEANUP_INTERVAL_MS = 60_000
/** Soon after the start, because some processes run only for a short time. */
const FIRST_CLEANUP_MS = 1_000
/** History and dedupe keys are deleted in batches, so that no single DELETE is long. */
const CLEANUP_BATCH = 1_000

export class RelayRun {
	readonly context: RelayContext
	readonly #parts: RelayParts
	readonly #claimer: Claimer
	readonly #heartbeat: Heartbeat
	readonly #cleanups: (() => unknown)[] = []
	#running: Promise<void> | undefined
	/** Ends a start that is not finished. */
	#abandonStart: (reason: unknown) => void = () => {}

	constructor(context: RelayContext, states: DestinationStates) {
		this.context = context
		const signal = new WakeSignal(context.runtime)
		const settler = new Settler(context, signal)
		const breaker = new SharedBreaker(context, settler)
		const parts = { context, states, settler, breaker, signal }
		this.#parts = { ...parts, dispatcher: new Dispatcher(parts) }
		this.#claimer = new Claimer(this.#parts)
		this.#heartbeat = new Heartbeat(this.#parts)
		const removeRelay = () => context.store.removeRelay(context.owner)
		this.#cleanups.push(removeRelay, () => this.#claimer.lost.release())
	}

	get inFlight(): number {
		return this.#parts.dispatcher.inFlight
	}

	get queued(): number {
		let queued = 0
		for (const state of this.#parts.states.byName.values()) queued += state.waiting
		return queued
	}

	serves(destination: string): boolean {
		return this.#parts.states.serves(destination)
	}

	/** Rejects if the database cannot be reached, does not respond in time, or its tables do not fit. */
	async start(historyForMs: number, auditForMs: number): Promise<void> {
		const { runtime, settings, store } = this.context
		let isAbandoned = false
		await new Promise<void>((resolve, reject) => {
			this.#abandonStart = (reason) => {
				isAbandoned = true
				this.#heartbeat.stop()
				this.context.abandonStore()
				reject(reason)
			}
			const onTimeout = () => this.#abandonStart(new TimeoutError(settings.name, START_TIMEOUT_MS))
			const cancel = runtime.setTimer(START_TIMEOUT_MS, onTimeout)
			this.#connect(() => isAbandoned)
				.then(resolve, reject)
				.finally(cancel)
		})
		// It fails only if the store was abandoned by a stop.
		this.#running = this.#claimer.run().catch(() => {})
		this.addCleanup(startDeleting(runtime, (limit) => store.dropDedupeKeys(limit)))
		this.addCleanup(startDeleting(runtime, (limit) => store.dropAttempts(limit)))
		if (historyForMs > 0 && historyForMs < Infinity)
			this.addCleanup(startDeleting(runtime, (limit) => store.dropHistory(historyForMs, limit)))
		if (auditForMs < Infinity)
			this.addCleanup(startDeleting(runtime, (limit) => store.dropAudit(auditForMs, limit)))
	}

	/** Rejects a start that is in flight. */
	abandonStart(): void {
		this.#abandonStart(new RelayStoppedError())
	}

	async #connect(isAbandoned: () => boolean): Promise<void> {
		const { store, settings } = this.context
		const needed = store.migrations.at(-1)?.version ?? 0
		const found = await store.schemaVersion()
		if (found !== needed) throw new OutboxSchemaError(found, needed)
		const onError = (error: unknown) => this.context.emitStoreError('listen', error, settings.pollMs)
		const unlisten = await store.listen(() => this.wake(), onError)
		// The cleanup has already run.
		if (isAbandoned()) await unlisten()
		else {
			this.addCleanup(unlisten)
			await this.#heartbeat.start()
		}
	}

	wake(): void {
		this.#claimer.wake()
	}

	/** Adds a step that `cleanUp` runs, in reverse order. */
	addCleanup(step: () => unknown): void {
		this.#cleanups.push(step)
	}

	/** Releases queued messages, waits for the others, and writes all results. Aborts handlers in the end. */
	async stop(timeoutMs: number): Promise<void> {
		const { context } = this
		const { runtime } = context
		const endsAt = runtime.now() + timeoutMs
		context.isStopping = true
		this.#parts.dispatcher.isPaused = true
		this.#parts.signal.wake()
		const cancel = runtime.setTimer(timeoutMs + 2 * ABORT_GRACE_MS, () => context.abandonStore())
		this.#releaseAll()
		// With nothing in flight and nothing to write, an unreachable database must not delay the stop.
		if (context.isStoreDown && this.inFlight === 0 && this.#parts.settler.isIdle) context.abandonStore()
		await withTimeout(runtime, timeoutMs, this.#running)
		// Again, because the last claim may have returned messages.
		this.#releaseAll()
		await this.#drain(endsAt)
		if (this.inFlight > 0) {
			this.#forEachInFlight((_, delivery) => delivery.abort(new RelayStoppedError()))
			await this.#drain(runtime.now() + ABORT_GRACE_MS)
			this.#forEachInFlight((state, delivery) => this.#parts.dispatcher.abandon(state, delivery))
		}
		// With a short `timeoutMs` a claim may be in flight. Messages that stay claimed would count a crash.
		await withTimeout(runtime, ABORT_GRACE_MS, this.#running)
		this.#releaseAll()
		this.#cancelProbes()
		await this.#parts.settler.flushAll()
		await this.#parts.breaker.flushAll()
		this.#heartbeat.stop()
		cancel()
		context.abandonStore()
	}

	/** Best effort: what stays in the database expires with its lease. */
	async cleanUp(): Promise<void> {
		const { runtime } = this.context
		const endsAt = runtime.now() + CLEANUP_TIMEOUT_MS
		for (const step of this.#cleanups.reverse()) {
			try {
				await withTimeout(runtime, Math.max(0, endsAt - runtime.now()), Promise.resolve(step()))
			} catch {
				// An unreachable database must not prevent the stop.
			}
		}
		// Ends the timers of operations that hang: they would keep the process alive.
		this.context.abandonStore()
	}

	#releaseAll(): void {
		for (const state of this.#parts.states.byName.values())
			this.#parts.settler.releaseQueued(state, 'stopping')
	}

	/** Lets other relays probe now, and not when the time for this relay's probe ends. */
	#cancelProbes(): void {
		const { context, states, breaker } = this.#parts
		if (context.isStoreDown) return
		for (const state of states.byName.values())
			if (state.breaker.isProbing) breaker.apply(state, state.breaker.cancelProbe())
	}

	#forEachInFlight(visit: (...args: Parameters<Dispatcher['abandon']>) => void): void {
		for (const state of this.#parts.states.byName.values())
			for (const delivery of state.inFlight) visit(state, delivery)
	}

	async #drain(until: number): Promise<void> {
		const { runtime } = this.context
		while (this.inFlight > 0 && runtime.now() < until)
			await this.#parts.signal.wait(Math.max(0, until - runtime.now()))
	}
}

/** Deletes expired rows once a minute, in batches until one is not full; returns a function that stops it. */
function startDeleting(runtime: Runtime, deleteBatch: (limit: number) => Promise<number>): () => void {
	let isStopped = false
	const run = async (): Promise<void> => {
		let count = 0
		try {
			count = await deleteBatch(CLEANUP_BATCH)
		} catch {
			// What is left is deleted the next time.
		}
		// The next batch in another turn of the event loop, so that other work can run in between.
		if (!isStopped) schedule(count === CLEANUP_BATCH ? 0 : CLEANUP_INTERVAL_MS)
	}
	let cancel: () => void
	const schedule = (ms: number): void => {
		cancel = runtime.setTimer(ms, () => void run(), 'housekeeping')
	}
	schedule(FIRST_CLEANUP_MS)
	return () => {
		isStopped = true
		cancel()
	}
}
