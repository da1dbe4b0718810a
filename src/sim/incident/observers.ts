/**
 * Who saw the calls, and who saw the attempts. Events carry no id, so that concurrent calls can not be followed; but each
 * policy tells every call or every attempt once, and that is enough when the right one is asked. A retry sees calls, whatever
 * became of their attempts. A breaker sees attempts when it stands inside the retry, and calls when there is no retry or it stands
 * outside: the order is not told, but the numbers show it.
 */
import { invalidOption } from '../../core/options/schema.ts'
import { detailOf, OUTCOME, outcomeOf, REFUSAL_KINDS } from './attempt-outcome.ts'
import type { EachRow, EventColumns } from './event-columns.ts'
import { at, increase } from './growable-array.ts'
import type { PipelineLedger, PolicyLedger } from './ledger.ts'
import type { TimeRange } from './time-range.ts'

export interface Observers {
	/** Rows that each are a call. */
	readonly calls: readonly EventColumns[]
	/** Rows that each are an attempt at the service, or a refusal. */
	readonly attempts: readonly EventColumns[]
	/** Of the attempts, those that a retry tells of: ends of calls, and attempts that are followed by a wait. */
	readonly endings: readonly EventColumns[]
	readonly repeats: readonly EventColumns[]
	/** Rows that each are a call or an attempt that was refused; and, by its kind, whether those above have not seen it. */
	readonly refusals: readonly EventColumns[]
	readonly isUnseen: readonly boolean[]
	/** Rows that each are a call of which nothing else is told. */
	readonly untold: readonly EventColumns[]
	readonly shortestTimeoutMs: number
	/** Who tells of the calls and of the attempts: for people. */
	readonly toldBy: { readonly calls: string; readonly attempts: string }
}

/** `isChosen`: the user has named the policies. Then those of one kind stand side by side. */
export function observersOf(ledger: PipelineLedger, stretch: TimeRange, isChosen: boolean): Observers {
	const policies = [...ledger].sort(([a], [b]) => (a < b ? -1 : 1))
	const retries = policies.filter(([, { endings }]) => endings.length > 0)
	const breakers = policies.filter(([, { counted }]) => counted.length > 0)
	const tellers = retries.length > 0 ? retries : breakers
	if (tellers.length === 0) tellNothing(policies)
	if (tellers.length > 1 && !isChosen) tellTwice(tellers)
	const { counted, endings, repeats, rejected, shadowed } = allOf(policies)
	const hasRetry = retries.length > 0
	const isInside = hasRetry && areAttempts(counted, endings, repeats, stretch)
	const byBreaker = !hasRetry || isInside
	return {
		calls: hasRetry ? endings : counted,
		endings,
		repeats,
		attempts: byBreaker ? counted : [...endings, ...repeats],
		refusals: rejected,
		isUnseen: unseen(rejected, [...endings, ...repeats], stretch),
		// A breaker that only watches says nothing of how such a call ended; a retry does.
		untold: hasRetry ? [] : shadowed,
		shortestTimeoutMs: Math.min(...policies.map(([, { shortestTimeoutMs }]) => shortestTimeoutMs)),
		toldBy: { calls: names(tellers), attempts: names(byBreaker ? breakers : retries) },
	}
}

type Named = readonly [name: string, policy: PolicyLedger]

const names = (policies: readonly Named[]): string => policies.map(([name]) => name).join(', ')

type RowsOf = 'counted' | 'endings' | 'repeats' | 'rejected' | 'shadowed'

function allOf(policies: readonly Named[]): Record<RowsOf, EventColumns[]> {
	const of = (kind: RowsOf) => policies.map(([, policy]) => policy[kind])
	return {
		counted: of('counted'),
		endings: of('endings'),
		repeats: of('repeats'),
		rejected: of('rejected'),
		shadowed: of('shadowed'),
	}
}

/** Row by row, within the stretch. */
export function eachWithin(rows: readonly EventColumns[], { from, to }: TimeRange, tell: EachRow): void {
	for (const one of rows)
		one.each((end, callMs, attemptMs, code) => {
			if (end >= from && end <= to) tell(end, callMs, attemptMs, code)
		})
}

/** Is what breakers counted nearer to the number of attempts that retries made than to that of their calls? */
function areAttempts(
	counted: readonly EventColumns[],
	endings: readonly EventColumns[],
	repeats: readonly EventColumns[],
	stretch: TimeRange,
): boolean {
	let [seen, calls, more] = [0, 0, 0]
	eachWithin(counted, stretch, () => seen++)
	// What ends in a refusal of the client's own never reached a breaker that counts.
	eachWithin(endings, stretch, (_, __, ___, code) => {
		if (isService(code)) calls++
	})
	eachWithin(repeats, stretch, (_, __, ___, code) => {
		if (isService(code)) more++
	})
	return more > 0 && Math.abs(seen - calls - more) < Math.abs(seen - calls)
}

const isService = (code: number): boolean => outcomeOf(code) <= OUTCOME.hung

/**
 * A policy inside a retry refuses attempts, and the retry tells of each by its error; one that stands outside refuses calls, of which
 * the retry never hears.
 */
function unseen(
	rejected: readonly EventColumns[],
	byRetry: readonly EventColumns[],
	stretch: TimeRange,
): boolean[] {
	const told = new Uint32Array(REFUSAL_KINDS + 1)
	const seen = new Uint32Array(REFUSAL_KINDS + 1)
	const count = (counts: Uint32Array): EachRow => {
		return (_, __, ___, code) => {
			if (outcomeOf(code) === OUTCOME.refused) increase(counts, detailOf(code))
		}
	}
	eachWithin(rejected, stretch, count(told))
	eachWithin(byRetry, stretch, count(seen))
	return Array.from(told, (number, kind) => at(seen, kind) < number / 2)
}

function tellNothing(policies: readonly Named[]): never {
	const found = policies.length > 0 ? `only such as refuse or time out: ${names(policies)}` : 'none'
	invalidOption(
		'lines',
		`events of no policy that tells of calls which end well (${found})`,
		'events of a retry or a circuit breaker, for those tell of every call',
	)
}

function tellTwice(tellers: readonly Named[]): never {
	invalidOption(
		'policy',
		undefined,
		`a name or several, for the events of several policies tell of calls: ${names(tellers)}. Of those inside each other name the outermost, of those side by side the ones that are meant`,
	)
}
