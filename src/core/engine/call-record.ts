/** Writes a call's record: classification of failures, attempts, and the end. */
import { CANCELLED, type Classification } from '../classify/classification.ts'
import { findInCauses, safeGet } from '../classify/safe-get.ts'
import { findExhausted, findRecordOfError, isExhausted } from '../explain/exhausted-retries.ts'
import {
	type AttemptEntry,
	type AttemptOutcome,
	attachRecord,
	type CallRecord,
	findRecord,
	type StopReason,
} from '../explain/record.ts'
import { requireSync } from '../options/hooks.ts'
import { invalidOption } from '../options/schema.ts'
import type { CallOptions } from './call-options.ts'
import { Context } from './context.ts'
import type { CompiledPipelineOf } from './layer.ts'
import type { RecordFacts } from './rare-state.ts'

/** The part of a call that its record needs. */
interface RecordedCall extends CallRecord {
	readonly options: CallOptions | undefined
	readonly pipeline: CallRecord['pipeline'] &
		Pick<CompiledPipelineOf<RecordedCall>, 'classify' | 'consecutiveSuccesses'>
	readonly attempt: number
	readonly ok: boolean
	readonly isAborted: boolean
	readonly cancelledBy: StopReason | undefined
	readonly rare: RecordFacts | undefined
	/** The same, created on first use. */
	readonly rareState: RecordFacts
	/** The call whose operation makes this call. */
	readonly parentCall: { readonly rareState: RecordFacts } | undefined
	lastAttempt: AttemptEntry | undefined
	stop: StopReason | undefined
	queuedMs: number | undefined
	hookThrew(error: unknown): void
}

export function classifyFailure(
	call: RecordedCall,
	classify: (error: unknown) => Classification,
): Classification {
	// An operation that sees its signal aborted by the deadline may throw an AbortError of its own.
	const isCancelled = call.isAborted || (call.cancelledBy && safeGet(call.value, 'name') === 'AbortError')
	const classification = isCancelled ? CANCELLED : requireSync('classify', classify(call.value))
	if (!classification?.kind)
		invalidOption('classify(error)', classification, 'a function that returns { kind, isKnown }')
	recordAttempt(call, classification.kind)
	return classification
}

export function recordAttempt(call: RecordedCall, outcome: AttemptOutcome): void {
	const { lastAttempt, attempt, startedAt, queuedMs } = call
	// An immediate repeat belongs to the same attempt and has its own entry.
	if (lastAttempt?.attempt === attempt && lastAttempt.delaySource !== 'immediate') {
		// An attempt that was followed by a wait is decided: an abort during the wait does not change its
		// outcome.
		if (lastAttempt.delayMs === undefined) lastAttempt.outcome = outcome
		return
	}
	if (queuedMs) call.queuedMs = 0
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

/**
 * Closes the record of a call in which a failure occurred: why no further attempt was made, and when. From
 * now on `explain` finds the record.
 */
export function closeRecord(call: RecordedCall): void {
	const { pipeline, ok, lastAttempt: last } = call
	if (ok && !call.rare?.keepsRecord) return
	try {
		// A layer that counts or retries failures has classified this one already.
		const isRecorded = last?.attempt === call.attempt && last.error === call.value
		if (!ok && !isRecorded && (!call.stop || call.stop === 'inner-retry'))
			classifyFailure(call, pipeline.classify)
	} catch (error) {
		call.hookThrew(error)
	}
	const { rare, lastAttempt, value, parentCall, queuedMs } = call
	call.stop ??= ok ? (rare?.isSubstituted ? 'fallback' : 'success') : (rare?.ending ?? 'not-retried')
	// Reuse the end of the last attempt if nothing was awaited since. A call that was rejected immediately took
	// no time.
	if (lastAttempt || rare || queuedMs !== undefined)
		call.rareState.endedAt =
			lastAttempt && lastAttempt.delayMs === undefined ? lastAttempt.endedAt : pipeline.runtime.now()
	if (ok) return
	// Before this record replaces the one of the call inside.
	if (call.stop === 'inner-retry' || !isExhausted(call)) {
		const inner = findExhausted(value)
		if (inner) call.rareState.inner = inner
	}
	attachRecord(value, call)
	if (!parentCall) return
	// If a retry has exhausted its retries of this failure, a retry of the parent call must not repeat it.
	if (rare?.finalSince !== undefined || call.stop === 'inner-retry')
		parentCall.rareState.innerFailure = {
			attempt: Context.of(call.options)?.attempt,
			error: value,
			stop: call.stop,
		}
	if (rare?.isDeferredToOuter) parentCall.rareState.isDeferredToOuter = true
}

/** The operation of the parent call receives this failure of a call as a result, such as a response, and may throw an error of its own. */
export function reportAsResult(error: unknown): void {
	const failure = (findRecord(error) as RecordedCall | undefined)?.parentCall?.rareState.innerFailure
	if (failure && failure.error === error) failure.isResult = true
}

/** Returns true if a retry stops without having handled the failure, and an outer retry may handle it. */
export const isPassedOn = (stop: StopReason | undefined): boolean =>
	stop === 'should-retry-false' || stop === 'permanent' || stop === 'cancelled'

/**
 * Returns true if the call failed with an error whose retries an inner call has exhausted, or with one that
 * has it as a cause. The operation may have handled that error and failed with another.
 */
export function isInnerFailure({ rare, attempt, value }: RecordedCall): boolean {
	const inner = rare?.innerFailure
	if (inner?.attempt !== attempt || isPassedOn(inner.stop)) return false
	// An error that ended another call stands for that call.
	if (inner.isResult) return !findRecordOfError(value)
	// The caller's error may be another object with the same record, which a library has created.
	return !!findInCauses(
		value,
		(failure) => failure === inner.error || findRecordOfError(failure)?.value === inner.error,
	)
}
