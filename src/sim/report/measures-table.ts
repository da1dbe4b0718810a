/**
 * The table of a study: a row per variant with the mean of each measure, and a row per client where a variant
 * has several. Totals pool the clients, so one client whose calls all fail would be hidden behind a busy one
 * that is served well.
 */
import { formatNumber, formatSignificant } from '../../text/format.ts'
import type { Table } from '../../text/table.ts'
import { type Estimate, estimate } from '../measure/estimate.ts'
import { MEASURES, type MeasureName, readMeasure } from '../measure/measures.ts'
import type { ClientResult, Recovery, SimulationResult } from '../measure/result.ts'
import { scheduledFaults } from '../model/fault-schedule.ts'
import { casesWithRuns, runsPerCase, type StudyCaseResult, type StudyResult } from './study-result.ts'

/** A table, and what its signs mean: a sentence each, none for signs that it does not contain. */
export interface ExplainedTable {
	readonly table: Table
	readonly notes: readonly string[]
}

const DEFAULT_MEASURES: readonly MeasureName[] = ['goodShare', 'amplification', 'wastedShare', 'p99Ms']

/** Returns the measures that the study selects, or the default ones. The recovery is added if there is one to report. */
export function measuresOf(result: StudyResult): readonly MeasureName[] {
	const { measures = DEFAULT_MEASURES } = result.study
	if (measures.includes('recoveredAfterMs')) return measures
	const readings = casesWithRuns(result).flatMap(recoveriesOf)
	const isReported = result.study.measures
		? readings.some((reading) => typeof reading !== 'number')
		: readings.length > 0
	return isReported ? [...measures, 'recoveredAfterMs'] : measures
}

/** Returns a row per variant and client with the mean of each measure and its uncertainty. */
export function measuresTable(result: StudyResult): ExplainedTable {
	const cases = casesWithRuns(result)
	const measures = measuresOf(result)
	const rows = cases.flatMap((one) => [
		[one.case.name, ...measures.map((name) => cellOf(one, name))],
		...clientNames(one).map((client) => [
			`${one.case.name} (${client})`,
			...measures.map((name) => clientCell(one.runs, name, client)),
		]),
	])
	const head = ['', ...measures.map((name) => MEASURES[name].label)]
	return { table: { head, rows }, notes: notesOn(rows, cases) }
}

function notesOn(rows: readonly (readonly string[])[], cases: readonly StudyCaseResult[]): readonly string[] {
	const cells = rows.flatMap(([, ...figures]) => figures)
	const has = (sign: string): boolean => cells.some((cell) => cell.includes(sign))
	const runs = runsPerCase(cases)
	const notes: readonly (readonly [applies: boolean, note: string])[] = [
		[has(' ±'), `±: half the width of the 95 % confidence interval of the mean over ${runs} runs.`],
		[runs === '1', 'One run each, so there is no confidence interval (±).'],
		[has(' of '), 'Recovery: the mean over the runs that recovered.'],
		[has('not shown'), 'Not shown: the run ended too soon to tell, or no call started after the fault.'],
		[cells.includes(NO_VALUE), `${NO_VALUE}: no run has a value.`],
	]
	return notes.filter(([applies]) => applies).map(([, note]) => note)
}

const NO_VALUE = '-'

function recoveriesOf({ runs, case: { scenario } }: StudyCaseResult): readonly RecoveryReading[] {
	return scheduledFaults(scenario).length === 0 ? [] : runs.map(({ recovery }) => toReading(recovery))
}

function cellOf(one: StudyCaseResult, measure: MeasureName): string {
	if (measure === 'recoveredAfterMs') return formatRecovery(recoveriesOf(one))
	const values = one.runs.map((run) => readMeasure(measure, run))
	return meanText(measure, values)
}

function clientNames({ case: { scenario } }: StudyCaseResult): readonly string[] {
	const names = Object.keys(scenario.clients)
	return names.length > 1 ? names : []
}

/** Measures that a client has for itself. Null where it has no value, such as the latency of no success. */
const CLIENT_MEASURES: Partial<Record<MeasureName, (client: ClientResult) => number | null>> = {
	goodShare: ({ good, calls }) => (calls === 0 ? null : good / calls),
	retries: ({ retries }) => retries,
	p50Ms: ({ good, late, latency }) => (good + late === 0 ? null : latency.p50Ms),
	p99Ms: ({ good, late, latency }) => (good + late === 0 ? null : latency.p99Ms),
}

function clientCell(runs: readonly SimulationResult[], measure: MeasureName, name: string): string {
	if (measure === 'recoveredAfterMs')
		return formatRecovery(
			runs.flatMap(({ clients }) => (clients[name] ? toReading(clients[name].recovery) : [])),
		)
	const read = CLIENT_MEASURES[measure]
	if (!read) return ''
	const values = runs.map(({ clients }) => (clients[name] ? read(clients[name]) : null))
	return meanText(measure, values)
}

const meanText = (measure: MeasureName, values: readonly (number | null)[]): string =>
	estimateText(measure, estimate(values.filter((value) => value !== null)))

/** Formats a mean with half the width of its confidence interval. */
export function estimateText(measure: MeasureName, { mean, high, count }: Estimate): string {
	if (count === 0) return NO_VALUE
	const value = valueAndUnit(measure, mean)
	if (high === mean) return value.join(' ').trim()
	const deviation = valueAndUnit(measure, high - mean)
	// The deviation has a unit of its own where it differs, as in 1.2 s ±300 ms.
	const unit = deviation[1] === value[1] ? '' : ` ${deviation[1]}`
	return `${value.join(' ').trim()} ±${deviation[0]}${unit}`
}

/** Shares in percent, durations of a second and more in seconds. */
function valueAndUnit(measure: MeasureName, value: number): readonly [value: string, unit: string] {
	const { unit } = MEASURES[measure]
	if (unit === '%') return [formatNumber(value * 100, 1), unit]
	if (unit === 'ms' && Math.abs(value) >= 1_000) return [formatNumber(value / 1_000, 2), 's']
	return [formatSignificant(value), unit]
}

/**
 * The time from the end of the last fault to recovery, or why there is none. A run that did not recover and a
 * run that ended before it could show a recovery are different verdicts: "never" for both would blame a
 * policy for a short simulation.
 */
type RecoveryReading = number | 'not recovered' | 'not shown'

/** A run without a recovery ended before its last fault did. */
function toReading(recovery: Recovery | null): RecoveryReading {
	if (recovery === null || recovery.status === 'not-shown') return 'not shown'
	return recovery.recoveredAfterMs ?? 'not recovered'
}

/** Formats the recovery of several runs: the mean of those that recovered, and how many did not. */
export function formatRecovery(readings: readonly RecoveryReading[]): string {
	const times = readings.filter((reading) => typeof reading === 'number')
	const hidden = readings.filter((reading) => reading === 'not shown').length
	const mean = times.length === 0 ? '' : meanText('recoveredAfterMs', times)
	if (times.length === readings.length) return mean
	if (hidden === readings.length) return 'not shown'
	const recovered = mean === '' ? 'not recovered' : `${mean} in ${times.length} of ${readings.length} runs`
	return hidden === 0 ? recovered : `${recovered}, not shown in ${hidden}`
}
