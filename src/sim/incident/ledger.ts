/** What the events of one policy come to: rows of numbers, by what tells them. */
import type { YaokiEvent } from '../../core/events/events.ts'
import {
	coded,
	codeOfAttempt,
	codeOfError,
	codeOfFailure,
	OUTCOME,
	refusalKind,
	waitedMs,
} from './attempt-outcome.ts'
import { EventColumns } from './event-columns.ts'

export class PolicyLedger {
	/** The ends of calls, as a retry tells them. */
	readonly endings: EventColumns = new EventColumns()
	/** Attempts that a retry makes again, each with the wait that follows it. */
	readonly repeats: EventColumns = new EventColumns()
	/** What a breaker counted. */
	readonly counted: EventColumns = new EventColumns()
	/** Calls that were not let in. */
	readonly rejected: EventColumns = new EventColumns()
	/** The same, by a breaker that only watches: they went on. */
	readonly shadowed: EventColumns = new EventColumns()
	/** The shortest timeout that was passed. */
	shortestTimeoutMs: number = Infinity

	add(event: YaokiEvent): void {
		const { timestamp: end } = event
		switch (event.type) {
			case 'retry_success':
			case 'retry_failure': {
				const { durationMs, attempts } = event
				const isLost = event.type === 'retry_failure'
				const code = isLost ? codeOfFailure(event) : coded(OUTCOME.answered, false)
				// Of a call that was made again, the last attempt's begin is not told.
				const attemptMs = attempts === 1 ? durationMs : isLost ? waitedMs(event) : Number.NaN
				this.endings.add(end, durationMs, attemptMs, code)
				break
			}
			case 'retry_attempt':
				this.repeats.add(end, event.delayMs, waitedMs(event), codeOfAttempt(event))
				break
			case 'success':
				this.counted.add(end, event.durationMs, event.durationMs, coded(OUTCOME.answered, false))
				break
			case 'failure':
				this.counted.add(end, event.durationMs, event.durationMs, codeOfError(event, true))
				break
			case 'rejected': {
				const code = coded(OUTCOME.refused, true, refusalKind(event))
				;(event.shadow ? this.shadowed : this.rejected).add(end, 0, 0, code)
				break
			}
			case 'timeout':
				this.shortestTimeoutMs = Math.min(this.shortestTimeoutMs, event.timeoutMs)
				break
		}
	}

	get rows(): readonly EventColumns[] {
		return [this.endings, this.repeats, this.counted, this.rejected, this.shadowed]
	}
}

/** The policies of one pipeline, by name. */
export type PipelineLedger = Map<string, PolicyLedger>

export const allRows = (ledger: PipelineLedger): readonly EventColumns[] =>
	[...ledger.values()].flatMap(({ rows }) => rows)
