/** A run in words and figures. */
import { callsPerRow, chart, type Paint, table, thousands } from './chart.ts'
import type { Model, Outcome, Second } from './model.ts'

export interface Run {
	readonly name: string
	readonly says: string
	readonly outcome: Outcome
}

export function report(model: Model, runs: readonly Run[], paint: Paint): readonly string[] {
	const { clients, capacity, downFromMs, upAgainMs, refusalCost } = model
	const rowCalls = callsPerRow(model, Math.max(...runs.map(({ outcome }) => peak(outcome))))
	return [
		`${clients} clients make a call each second. The service can answer ${capacity} a second.`,
		`It is down (×) from second ${downFromMs / 1_000} to ${upAgainMs / 1_000}. When it has too much to do it refuses (!),`,
		`and a refusal costs it ${Number((refusalCost * 100).toFixed(2))} % of the work of an answer.`,
		...runs.flatMap(({ name, says, outcome }) => [
			'',
			`${paint('bold', name)}: ${says}`,
			paint('dim', 'calls/s'),
			...chart(model, outcome.seconds, rowCalls, paint),
		]),
		'',
		...figures(model, runs),
	]
}

const sum = ({ seconds }: Outcome, of: keyof Second): number =>
	seconds.reduce((total, second) => total + second[of], 0)

const peak = ({ seconds }: Outcome): number => Math.max(...seconds.map(({ calls }) => calls))

function figures(model: Model, runs: readonly Run[]): readonly string[] {
	const row = (label: string, tell: (outcome: Outcome) => string): readonly string[] => [
		label,
		...runs.map(({ outcome }) => tell(outcome)),
	]
	return table([
		['', ...runs.map(({ name }) => name)],
		row('calls that users made', ({ wanted }) => thousands(wanted)),
		row('calls that the service was sent', (outcome) => thousands(sum(outcome, 'calls'))),
		row('amplification', (outcome) => `${(sum(outcome, 'calls') / outcome.wanted).toFixed(1)} x`),
		row(`most in one second (capacity ${model.capacity})`, (outcome) => thousands(peak(outcome))),
		row('refused for overload', (outcome) => thousands(sum(outcome, 'refused'))),
		row('healthy again after the outage', (outcome) => untilHealthy(model, outcome)),
		row('calls of users answered by the end', ({ wanted, answered }) => {
			return `${thousands(answered)} (${Math.round((answered / wanted) * 100)} %)`
		}),
	])
}

function untilHealthy({ upAgainMs, endMs }: Model, { lastRefusalMs }: Outcome): string {
	// It refused until the very end: nobody knows when that would have stopped.
	if (lastRefusalMs > endMs - 1_000) return `not in ${(endMs - upAgainMs) / 1_000} s`
	return `in ${Math.max(0, (lastRefusalMs - upAgainMs) / 1_000).toFixed(1)} s`
}
