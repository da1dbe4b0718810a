/** How a call's record is written: what its failures mean, its attempts, its end. Apart from the call, which only goes its way. */

import type { Classification } from '../classify/classification.ts'
import { CANCELLED } from '../classify/classify.ts'
import { peek } from '../classify/peek.ts'
import {
	type AttemptNote,
	type AttemptOutcome,
	type CallRecord,
	describeError,
	remember,
	type StopReason,
} from '../explain/record.ts'
import { refuse } from '../options/rules.ts'
import type { Remarks } from './aside.ts'
import type { CallOptions } from './call-options.ts'
import { Context } from './context.ts'
import { decided } from './hooks.ts'

/** A call, as far as its record goes. */
interface Recorded extends CallRecord {
	readonly options: CallOptions | undefined
	readonly attempt: number
	readonly ok: boolean
	readonly isAborted: boolean
	readonly cutOffBy: StopReason | undefined
	readonly aside: Remarks | undefined
	/** The same, made when it is needed. */
	readonly extra: Remarks
	/** The call that this one is part of. */
	readonly around: { readonly extra: Remarks } | undefined
	latest: AttemptNote | undefined
	stop: StopReason | undefined
}

export function judge(call: Recorded, classify: (error: unknown) => Classification): Classification {
	// Work that heard of its deadline's end by the signal may call that an abort of its own.
	const isCancelled =
		call.isAborted || (call.cutOffBy && describeError(call.value).errorType === 'AbortError')
	const verdict = isCancelled ? CANCELLED : decided('classify', classify(call.value))
	if (!verdict?.kind) refuse('classify(error)', verdict, 'a function giving { kind, known }')
	note(call, verdict.kind)
	return verdict
}

export function note(call: Recorded, outcome: AttemptOutcome): void {
	const { latest, attempt, startedAt, aside } = call
	if (latest?.attempt === attempt) {
		// What was waited after is decided: an abort in the wait does not change how the attempt before it ended.
		if (latest.delayMs === undefined) latest.outcome = outcome
		return
	}
	const queuedMs = aside?.queuedMs
	if (aside) aside.queuedMs = 0
	call.latest = {
		before: latest,
		attempt,
		startedAt,
		endedAt: call.plan.runtime.now(),
		outcome,
		error: call.ok ? undefined : call.value,
		delayMs: undefined,
		delaySource: undefined,
		queuedMs,
	}
}

/** Says why nothing more was tried, and when that was; `explain` can find it from now on. */
export function endRecord(call: Recorded): void {
	const { ok, aside, latest, plan, value, around } = call
	call.stop ??= ok ? (aside?.isSubstituted ? 'fallback' : 'success') : (aside?.ending ?? 'not-retried')
	// An attempt that was not waited after has just been written down, and the clock been read for it; who was refused at
	// once has lost no time.
	if (latest || aside)
		call.extra.endedAt = latest && latest.delayMs === undefined ? latest.endedAt : plan.runtime.now()
	if (ok) return
	remember(value, call)
	if (!around) return
	// When a retry has decided upon this failure, the call that this one is part of leaves it at that.
	if (aside?.isGivenUp || call.stop === 'inner-retry')
		around.extra.innerFailure = { attempt: Context.of(call.options)?.attempt, error: value }
	if (aside?.isLeftToOuter) around.extra.isLeftToOuter = true
}

/**
 * Has the call failed with what a retry further in gave up, as it is or as a cause further down? Its work may have handled that
 * and failed anew.
 */
export function isInnerFailure({ aside, attempt, value }: Recorded): boolean {
	const inner = aside?.innerFailure
	if (inner?.attempt !== attempt) return false
	let failure = value
	for (let depth = 0; depth < 9 && failure !== undefined; depth++) {
		if (failure === inner.error) return true
		failure = peek(failure, 'cause')
	}
	return false
}
