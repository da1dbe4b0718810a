/** How a call's record is written: what its failures mean, its attempts, its end. Apart from the call, which only goes its way. */

import type { Classification } from '../classify/classification.ts'
import { CANCELLED } from '../classify/classify.ts'
import { safeGet } from '../classify/safe-get.ts'
import {
	type AttemptEntry,
	type AttemptOutcome,
	attachRecord,
	type CallRecord,
	type StopReason,
} from '../explain/record.ts'
import { invalidOption } from '../options/schema.ts'
import type { CallOptions } from './call-options.ts'
import { Context } from './context.ts'
import { requireSync } from './hooks.ts'
import type { RareFacts } from './layer.ts'

/** A call, as far as its record goes. */
interface RecordedCall extends CallRecord {
	readonly options: CallOptions | undefined
	readonly attempt: number
	readonly ok: boolean
	readonly isAborted: boolean
	readonly cancelledBy: StopReason | undefined
	readonly rare: RareFacts | undefined
	/** The same, made when it is needed. */
	readonly rareState: RareFacts
	/** The call that this one is part of. */
	readonly parentCall: { readonly rareState: RareFacts } | undefined
	lastAttempt: AttemptEntry | undefined
	stop: StopReason | undefined
}

export function classifyFailure(
	call: RecordedCall,
	classify: (error: unknown) => Classification,
): Classification {
	// Work that heard of its deadline's end by the signal may call that an abort of its own.
	const isCancelled = call.isAborted || (call.cancelledBy && safeGet(call.value, 'name') === 'AbortError')
	const classification = isCancelled ? CANCELLED : requireSync('classify', classify(call.value))
	if (!classification?.kind)
		invalidOption('classify(error)', classification, 'a function giving { kind, isKnown }')
	recordAttempt(call, classification.kind)
	return classification
}

export function recordAttempt(call: RecordedCall, outcome: AttemptOutcome): void {
	const { lastAttempt, attempt, startedAt, rare } = call
	if (lastAttempt?.attempt === attempt) {
		// What was waited after is decided: an abort in the wait does not change how the attempt before it ended.
		if (lastAttempt.delayMs === undefined) lastAttempt.outcome = outcome
		return
	}
	const queuedMs = rare?.queuedMs
	if (rare) rare.queuedMs = 0
	call.lastAttempt = {
		previous: lastAttempt,
		attempt,
		startedAt,
		endedAt: call.pipeline.runtime.now(),
		outcome,
		error: call.ok ? undefined : call.value,
		delayMs: undefined,
		delaySource: undefined,
		queuedMs,
	}
}

/** Says why nothing more was tried, and when that was; `explain` can find it from now on. */
export function closeRecord(call: RecordedCall): void {
	const { ok, rare, lastAttempt, pipeline, value, parentCall } = call
	call.stop ??= ok ? (rare?.isSubstituted ? 'fallback' : 'success') : (rare?.ending ?? 'not-retried')
	// An attempt that was not waited after has just been written down, and the clock been read for it; who was refused at
	// once has lost no time.
	if (lastAttempt || rare)
		call.rareState.endedAt =
			lastAttempt && lastAttempt.delayMs === undefined ? lastAttempt.endedAt : pipeline.runtime.now()
	if (ok) return
	attachRecord(value, call)
	if (!parentCall) return
	// When a retry has decided upon this failure, the call that this one is part of leaves it at that.
	if (rare?.isFinalFailure || call.stop === 'inner-retry')
		parentCall.rareState.innerFailure = { attempt: Context.of(call.options)?.attempt, error: value }
	if (rare?.isDeferredToOuter) parentCall.rareState.isDeferredToOuter = true
}

/**
 * Has the call failed with what a retry further in gave up, as it is or as a cause further down? Its work may have handled that
 * and failed anew.
 */
export function isInnerFailure({ rare, attempt, value }: RecordedCall): boolean {
	const inner = rare?.innerFailure
	if (inner?.attempt !== attempt) return false
	let failure = value
	for (let depth = 0; depth < 9 && failure !== undefined; depth++) {
		if (failure === inner.error) return true
		failure = safeGet(failure, 'cause')
	}
	return false
}
