/** What is shown of a failed call, when a viewer looks. */
import { describeError } from '../../core/events/error-facts.ts'
import { type Explanation, explain } from '../../core/explain/explain.ts'
import { attachRecord } from '../../core/explain/record.ts'
import type { FailedCall } from '../contract.ts'
import { MAX_ERROR_LENGTH, type ShownTexts } from './shown-texts.ts'
import { SHOWN_ATTEMPTS, type TakenFailure, type TakenRecord } from './take-failure.ts'

/** Returns the value that calls are filtered by. */
export const reasonOf = ({ rejection, record }: TakenFailure): string =>
	rejection ?? record.stop ?? 'not-retried'

/** Returns the call as it is shown: without secrets, each text on one line. */
export function showFailure(taken: TakenFailure, texts: ShownTexts): Omit<FailedCall, 'number'> {
	const { at, source, key, method, outcome, attempts, record } = taken
	const { options, pipeline, stop = 'not-retried', value } = record
	const explanation = explanationOf(record)
	return {
		at,
		source,
		policy: texts.text(pipeline.name, 'emitter'),
		key: texts.name(key, 'key'),
		call: texts.name(options?.name, 'call'),
		method: texts.name(method, 'method'),
		outcome,
		stop,
		reason: reasonOf(taken),
		attempts,
		durationMs: explanation?.durationMs ?? null,
		error: texts.errorFacts(describeError(value)),
		explanation: explanation ? linesOf(explanation, record, texts) : [],
	}
}

/** `explain` finds a record by an object: the error that is kept may be a primitive. */
function explanationOf(record: TakenRecord): Explanation | undefined {
	const carrier = {}
	attachRecord(carrier, record)
	return explain(carrier)
}

/** Returns the lines of `explain`. Each text in it is cleaned first, so that no text can add a line. */
function linesOf(explanation: Explanation, { attemptCount, rare }: TakenRecord, texts: ShownTexts): string[] {
	const clean = <Facts extends object>(facts: Facts) =>
		mapTexts(facts, (text, field) => texts.text(text, field, MAX_ERROR_LENGTH))
	const { inner, ...facts } = explanation
	const linesWith = (attempts: readonly unknown[]) =>
		explanation.toString.call({ ...clean(facts), attempts }).split('\n')
	const lines = [
		// The first line has the number of all attempts.
		linesWith(new Array(attemptCount))[0] ?? '',
		...linesWith(explanation.attempts.map(clean)).slice(1),
	]
	const omitted = attemptCount - explanation.attempts.length
	if (omitted > 0) lines.splice(1 + SHOWN_ATTEMPTS, 0, `  (${omitted} more)`)
	return inner && rare.inner ? [...lines, 'inside:', ...linesOf(inner, rare.inner, texts)] : lines
}

const TEXTS = ['name', 'hint', 'errorType', 'errorMessage'] as const

function mapTexts<Facts extends object>(facts: Facts, map: (text: string, field: string) => string): Facts {
	const mapped = { ...facts } as Record<string, unknown>
	for (const field of TEXTS) {
		const text = mapped[field]
		if (typeof text === 'string') mapped[field] = map(text, field)
	}
	return mapped as Facts
}
