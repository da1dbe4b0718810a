/**
 * What a language has to say about the figures. The page and `yaoki top` use the same sentences. Pure functions of the
 * contract, without a document: a language that lacks a text does not compile.
 */
import type {
	CircuitRow,
	Count,
	DestinationRow,
	JobView,
	LimitRow,
	MessageStatus,
	Problem,
} from '../contract.ts'

export type Language = 'en' | 'ja'

export type ProblemKind = Problem['kind']

/** The problem of this kind. `Extract` would find nothing, because several kinds have the same fields. */
export type ProblemOf<Kind extends ProblemKind> = Problem extends infer Member
	? Member extends { readonly kind: infer Kinds }
		? Kind extends Kinds
			? Member
			: never
		: never
	: never

export interface Words {
	readonly language: Language
	duration(ms: number): string
	/** With one more unit, for countdowns: `3 min 20 s`. */
	exactDuration(ms: number): string
	/** What was measured, such as the duration of a call: `1.32 s`. */
	measured(ms: number): string
	count(count: Count): string
	/** `12 messages`. */
	messages(count: Count): string
	callsPerSecond(rate: number): string
	inTime(ms: number): string
	ago(ms: number): string
	/** A sentence that says what is wrong, without the source. */
	readonly problems: { readonly [Kind in ProblemKind]: (problem: ProblemOf<Kind>) => string }
	/** What an operator can do about it. */
	readonly advice: Readonly<Record<ProblemKind, string>>
	readonly nothingWrong: string
	/** How many problems there are, for a title. */
	problemCount(errors: number, warnings: number): string
	readonly severities: Readonly<Record<Problem['severity'], string>>
	readonly circuitStates: Readonly<Record<CircuitRow['state'], string>>
	readonly shadow: string
	readonly limits: Readonly<Record<LimitRow['kind'], string>>
	readonly pauses: Readonly<Record<NonNullable<DestinationRow['pause']>, string>>
	readonly statuses: Readonly<Record<MessageStatus, string>>
	readonly jobStates: Readonly<Record<JobView['state'], string>>
	/** Whose memory the figures are from. */
	processLine(host: string, pid: number): string
}
