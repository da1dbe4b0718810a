/**
 * A few first: is the cause really mended? A replay of a hundred thousand that all fail again costs a hundred thousand attempts, opens the circuit for
 * what is new, and buries the dead letters under fresh ones. Watching is by asking the store, for whichever relay sends them may be in
 * another process. A failed attempt is noticed while the message waits for its retry: to wait for its death could take hours.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { StoredMessage } from '../store/rows.ts'
import type { Store, StoreFilter } from '../store/store.ts'
import { sleep } from '../timing/sleep.ts'
import { type BatchStep, tellProgress } from './batches.ts'
import type { BatchOptions, ReplayStop } from './options.ts'

const STAGES = [1, 10]
const FIRST_LOOK_MS = 20
const LONGEST_BETWEEN_LOOKS_MS = 1_000

export interface Canary {
	readonly store: Store
	readonly runtime: Runtime
	readonly timeoutMs: number
	readonly options: BatchOptions
	readonly replay: BatchStep
}

export interface CanaryResult {
	readonly replayed: number
	/** Undefined when all went well and the rest may follow. */
	readonly stoppedBy: ReplayStop | undefined
	readonly reason: string | undefined
	readonly sameFailure: readonly string[]
}

/** Replays 1 and then 10 of those that match, and watches what becomes of them. */
export async function replayCanary(canary: Canary, filter: StoreFilter): Promise<CanaryResult> {
	let replayed = 0
	for (const size of STAGES) {
		if (canary.options.signal?.aborted) return { ...ABORTED, replayed }
		const letters = await canary.store.list({ ...filter, status: 'dead' }, size)
		if (letters.length === 0) break
		const ids = await canary.replay({ ...filter, ids: letters.map((letter) => letter.id) }, size)
		replayed += ids.length
		if (ids.length > 0) tellProgress(canary.options, replayed)
		// Somebody else may have replayed or discarded some of them in between.
		const stage = new Stage(letters.filter((letter) => ids.includes(letter.id)))
		const result = await watch(canary, stage)
		if (result.stoppedBy) return { ...result, replayed }
	}
	return { ...WENT_WELL, replayed }
}

/** A replay that nothing speaks against. */
export const WENT_WELL: CanaryResult = {
	replayed: 0,
	stoppedBy: undefined,
	reason: undefined,
	sameFailure: [],
}

/** A replay that its caller ended. */
export const ABORTED: CanaryResult = {
	...WENT_WELL,
	stoppedBy: 'aborted',
	reason: 'it was stopped by the caller; what was replayed stays in the queue',
}

async function watch({ store, runtime, timeoutMs, options }: Canary, stage: Stage): Promise<CanaryResult> {
	const endsAt = runtime.now() + timeoutMs
	for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * 1.5, LONGEST_BETWEEN_LOOKS_MS)) {
		for (const before of stage.unheard) stage.look(before, await store.find(before.id))
		const stopped = stage.verdict()
		if (stopped) return stopped
		if (stage.unheard.length === 0) return WENT_WELL
		if (options.signal?.aborted) return ABORTED
		const leftMs = endsAt - runtime.now()
		if (leftMs <= 0) return stage.nothingHeard(timeoutMs)
		await sleep(runtime, Math.min(waitMs, leftMs), options.signal)
	}
}

/** Letters that were replayed together, as they were when they were dead. */
class Stage {
	readonly #size: number
	readonly #same: string[] = []
	readonly #deadAgain: string[] = []
	unheard: readonly StoredMessage[]

	constructor(letters: readonly StoredMessage[]) {
		this.#size = letters.length
		this.unheard = letters
	}

	look(before: StoredMessage, now: StoredMessage | undefined): void {
		const isDead = now?.status === 'dead'
		// What is in neither place was sent, and its row went with that.
		const isSent = now === undefined || now.status === 'sent'
		if (!isSent && !isDead && !hasFailed(now)) return
		this.unheard = this.unheard.filter(({ id }) => id !== before.id)
		if (isSent) return
		if (failsAs(before, now)) this.#same.push(before.id)
		else if (isDead) this.#deadAgain.push(before.id)
	}

	verdict(): CanaryResult | undefined {
		const [same] = this.#same
		const [other] = this.#deadAgain
		if (same !== undefined) {
			const reason = `${this.#share(this.#same.length)} failed the same way as before, such as ${same}; the rest was left as dead letters until the cause is mended`
			return { ...WENT_WELL, stoppedBy: 'same-failure', reason, sameFailure: this.#same }
		}
		if (other === undefined) return undefined
		const reason = `${this.#share(this.#deadAgain.length)} became a dead letter again in another way than before, such as ${other}; the rest was left as it is`
		return { ...WENT_WELL, stoppedBy: 'dead-again', reason }
	}

	nothingHeard(timeoutMs: number): CanaryResult {
		const reason = `nothing was heard of ${this.#share(this.unheard.length)} within ${timeoutMs} ms; is a relay running that serves ${this.#destinations()}?`
		return { ...WENT_WELL, stoppedBy: 'nothing-heard', reason }
	}

	#share(count: number): string {
		return this.#size === 1 ? 'the first one' : `${count} of ${this.#size}`
	}

	#destinations(): string {
		return [...new Set(this.unheard.map(({ destination }) => `'${destination}'`))].join(', ')
	}
}

/**
 * Has an attempt failed since the replay, which had set attempts and crashes to 0? A claim counts its attempt at once, so that one in flight
 * is not yet a failed one. After a crash there was no failure to note, and the note may still be the old one.
 */
function hasFailed({ status, attempts, crashes, error, lockedBy }: StoredMessage): boolean {
	if (error === null || crashes > 0) return false
	return status === 'pending' && lockedBy === null ? attempts > 0 : attempts > 1
}

/**
 * An attempt that failed is known by its fingerprint. Of what died without one, as by its expiry, the note may still be the one from before the
 * replay: there the cause of death alone tells.
 */
function failsAs(before: StoredMessage, now: StoredMessage): boolean {
	const isOfAttempt = now.cause === null || now.cause === 'retries-exhausted' || now.cause === 'permanent'
	if (isOfAttempt && before.error && now.error) return before.error.fingerprint === now.error.fingerprint
	return before.cause === now.cause
}
