/**
 * Replays a few dead letters first, to find out whether the cause is fixed: 100,000 messages that fail again
 * would open the circuit for new messages. The store is polled, because the relay may run in another process.
 * A first failed attempt is a result, because it can take hours until the message is dead again.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { sleep } from '../../core/runtime/sleep.ts'
import { joinList } from '../../text/format.ts'
import type { StoredMessage } from '../store/rows.ts'
import type { OutboxStore, StoreFilter } from '../store/store.ts'
import { type BatchStep, reportProgress } from './batches.ts'
import type { BatchOptions, ReplayReport } from './options.ts'

const STAGE_SIZES = [1, 10]
const FIRST_POLL_MS = 20
const MAX_POLL_MS = 1_000

export interface Canary {
	readonly store: OutboxStore
	readonly runtime: Runtime
	readonly timeoutMs: number
	readonly options: BatchOptions
	readonly replay: BatchStep
}

/** The rest may follow if `stoppedBy` is undefined. */
type CanaryResult = Omit<ReplayReport, 'stopped'>

/** Replays 1 and then 10 of the matching messages, and waits for their results. */
export async function replayCanary(canary: Canary, filter: StoreFilter): Promise<CanaryResult> {
	let replayed = 0
	for (const size of STAGE_SIZES) {
		if (canary.options.signal?.aborted) return { ...ABORTED, replayed }
		const messages = await canary.store.list({ ...filter, status: 'dead' }, size)
		if (messages.length === 0) break
		const ids = await canary.replay({ ...filter, ids: messages.map(({ id }) => id) }, size)
		replayed += ids.length
		if (ids.length > 0) reportProgress(canary.options, replayed)
		// Some may have been replayed or discarded by another process in between.
		const result = await watchStage(canary, new Stage(messages.filter(({ id }) => ids.includes(id))))
		if (result.stoppedBy) return { ...result, replayed }
	}
	return { ...SUCCEEDED, replayed }
}

export const SUCCEEDED: CanaryResult = {
	replayed: 0,
	stoppedBy: undefined,
	reason: undefined,
	sameFailure: [],
}

export const ABORTED: CanaryResult = {
	...SUCCEEDED,
	stoppedBy: 'abort',
	reason: 'Aborted by the caller. Messages that were already replayed stay in the queue.',
}

async function watchStage(canary: Canary, stage: Stage): Promise<CanaryResult> {
	const { store, runtime, timeoutMs, options } = canary
	const endsAt = runtime.now() + timeoutMs
	for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 1.5, MAX_POLL_MS)) {
		for (const before of stage.pending) stage.update(before, await store.find(before.id))
		const failure = stage.failure()
		if (failure) return failure
		if (stage.pending.length === 0) return SUCCEEDED
		if (options.signal?.aborted) return ABORTED
		const leftMs = endsAt - runtime.now()
		if (leftMs <= 0) return stage.timedOut(timeoutMs)
		await sleep(runtime, Math.min(pollMs, leftMs), options.signal)
	}
}

/** Messages that were replayed together, as they were before the replay. */
class Stage {
	readonly #size: number
	readonly #sameFailure: string[] = []
	readonly #deadAgain: string[] = []
	pending: readonly StoredMessage[]

	constructor(messages: readonly StoredMessage[]) {
		this.#size = messages.length
		this.pending = messages
	}

	update(before: StoredMessage, now: StoredMessage | undefined): void {
		const isDead = now?.status === 'dead'
		// A message that is not found was sent, and no history is kept.
		const isSent = now === undefined || now.status === 'sent'
		if (!isSent && !isDead && !hasFailed(now)) return
		this.pending = this.pending.filter(({ id }) => id !== before.id)
		if (isSent) return
		if (hasSameFailure(before, now)) this.#sameFailure.push(before.id)
		else if (isDead) this.#deadAgain.push(before.id)
	}

	failure(): CanaryResult | undefined {
		const [same] = this.#sameFailure
		const [other] = this.#deadAgain
		if (same !== undefined) {
			const reason = `${this.#share(this.#sameFailure.length)} failed with the same error as before, for example ${same}. The rest stay dead letters; fix the cause first.`
			return { ...SUCCEEDED, stoppedBy: 'same-failure', reason, sameFailure: this.#sameFailure }
		}
		if (other === undefined) return undefined
		const reason = `${this.#share(this.#deadAgain.length)} became a dead letter again with another error than before, for example ${other}. The rest stay dead letters.`
		return { ...SUCCEEDED, stoppedBy: 'dead-again', reason }
	}

	timedOut(timeoutMs: number): CanaryResult {
		const destinations = [...new Set(this.pending.map(({ destination }) => `'${destination}'`))]
		const reason = `No result for ${this.#share(this.pending.length).toLowerCase()} within ${timeoutMs} ms. Check that a relay is running that serves ${joinList(destinations)}. If one is, the circuit may be open.`
		return { ...SUCCEEDED, stoppedBy: 'timeout', reason }
	}

	#share(count: number): string {
		return this.#size === 1 ? 'The first message' : `${count} of ${this.#size} messages`
	}
}

/**
 * Returns true if an attempt has failed since the replay, which reset attempts and crashes. A claim counts
 * its attempt immediately, so the latest attempt of a claimed message is still running. After a crash the
 * stored error may be the one from before the replay.
 */
function hasFailed({ status, attempts, crashes, error, lockedBy }: StoredMessage): boolean {
	if (error === null || crashes > 0) return false
	return status === 'pending' && lockedBy === null ? attempts > 0 : attempts > 1
}

/**
 * Compares failed attempts by their fingerprint. A message that died without an attempt, for example by its
 * expiry, may still have the error from before the replay; there only the cause is compared.
 */
function hasSameFailure(before: StoredMessage, now: StoredMessage): boolean {
	const isAttempt = now.cause === null || now.cause === 'retries-exhausted' || now.cause === 'permanent'
	if (isAttempt && before.error && now.error) return before.error.fingerprint === now.error.fingerprint
	return before.cause === now.cause
}
