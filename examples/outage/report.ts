/** The charts of all runs, and a table that compares them. */
import { chart, formatNumber, type Paint, requestsPerRow, table } from './chart.ts'
import type { Model, OutageResult, Second } from './model.ts'

export interface Run {
	readonly name: string
	readonly description: string
	readonly result: OutageResult
}

export function report(model: Model, runs: readonly Run[], paint: Paint): readonly string[] {
	const { clients, capacity, downFromMs, downToMs, rejectionCost } = model
	const perRow = requestsPerRow(model, Math.max(...runs.map(({ result }) => peak(result))))
	return [
		`${clients} clients make one call per second. The service can process ${capacity} requests/s.`,
		`It is down (×) from ${downFromMs / 1_000} s to ${downToMs / 1_000} s. When it is overloaded (!) it rejects requests;`,
		`a rejection costs ${Number((rejectionCost * 100).toFixed(2))} % of the work of a response.`,
		...runs.flatMap(({ name, description, result }) => [
			'',
			`${paint('bold', name)}: ${description}`,
			paint('dim', 'requests/s'),
			...chart(model, result.seconds, perRow, paint),
		]),
		'',
		...comparison(model, runs),
	]
}

const sum = ({ seconds }: OutageResult, field: keyof Second): number =>
	seconds.reduce((total, second) => total + second[field], 0)

const peak = ({ seconds }: OutageResult): number => Math.max(...seconds.map(({ requests }) => requests))

function comparison(model: Model, runs: readonly Run[]): readonly string[] {
	const row = (label: string, format: (result: OutageResult) => string): readonly string[] => [
		label,
		...runs.map(({ result }) => format(result)),
	]
	return table([
		['', ...runs.map(({ name }) => name)],
		row('calls', ({ calls }) => formatNumber(calls)),
		row('requests to the service', (result) => formatNumber(sum(result, 'requests'))),
		row('amplification', (result) => `${(sum(result, 'requests') / result.calls).toFixed(1)} x`),
		row(`peak requests/s (capacity ${model.capacity})`, (result) => formatNumber(peak(result))),
		row('rejected because of overload', (result) => formatNumber(sum(result, 'rejected'))),
		row('recovery after the outage', (result) => recoveryTime(model, result)),
		row('successful calls', ({ calls, succeeded }) => {
			return `${formatNumber(succeeded)} (${Math.round((succeeded / calls) * 100)} %)`
		}),
	])
}

function recoveryTime({ downToMs, endMs }: Model, { lastRejectionMs }: OutageResult): string {
	// It rejected requests until the end, so its recovery time is unknown.
	if (lastRejectionMs > endMs - 1_000) return `not in ${(endMs - downToMs) / 1_000} s`
	return `in ${Math.max(0, (lastRejectionMs - downToMs) / 1_000).toFixed(1)} s`
}
