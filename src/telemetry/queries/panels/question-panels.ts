import {
	circuitsOpened,
	circuitsReopened,
	deadLetters,
	destinationsOpened,
	destinationsReopened,
	rescuedCalls,
	retriedCalls,
	retriesPerCall,
	type Share,
} from '../five-questions.ts'
import { eventsInStep, ratio, type Scope, total } from '../promql.ts'
import { type PanelGroup, type PanelQuery, query, type Thresholds } from './panel.ts'

const totalShare = ({ part, whole }: Share): string => ratio(total(part), total(whole))
const share = ({ part, whole }: Share): string => ratio(part, whole)
const sumOf = (...expressions: readonly string[]): string =>
	expressions.map((expression) => `(${total(expression)} or vector(0))`).join(' + ')

/** A number is a sum over all jobs. */
const number = (expression: string, legend: string): PanelQuery => ({ expression, legend })

/** The thresholds of the number that answers each question. */
export type AnswerThresholds = Readonly<
	Record<'retryRate' | 'retrySuccess' | 'circuitsOpened' | 'retriesPerCall' | 'deadLetters', Thresholds>
>

/** One number for each question, over all services and the selected time. */
export const answers = (scope: Scope, thresholds: AnswerThresholds): PanelGroup => ({
	title: 'The five questions, over the selected time',
	panels: [
		{
			title: 'Retry rate',
			description: 'Share of calls with at least one retry.',
			kind: 'number',
			unit: 'share',
			thresholds: thresholds.retryRate,
			queries: [number(totalShare(retriedCalls(scope)), 'retried')],
		},
		{
			title: 'Retry success rate',
			description: 'Share of the retried calls that succeeded.',
			kind: 'number',
			unit: 'share',
			thresholds: thresholds.retrySuccess,
			queries: [number(totalShare(rescuedCalls(scope)), 'succeeded')],
		},
		{
			title: 'Circuits opened',
			description: 'How often circuits opened, and how often a failed probe opened them again.',
			kind: 'number',
			unit: 'count',
			thresholds: thresholds.circuitsOpened,
			queries: [
				number(sumOf(circuitsOpened(scope), destinationsOpened(scope)), 'opened'),
				number(sumOf(circuitsReopened(scope), destinationsReopened(scope)), 'half-open to open'),
			],
		},
		{
			title: 'Retries per call',
			description: 'Mean number of retries.',
			kind: 'number',
			unit: 'count',
			thresholds: thresholds.retriesPerCall,
			queries: [number(totalShare(retriesPerCall(scope)), 'retries')],
		},
		{
			title: 'Dead letters',
			description: 'Messages that became dead letters.',
			kind: 'number',
			unit: 'count',
			thresholds: thresholds.deadLetters,
			queries: [number(sumOf(deadLetters(scope)), 'dead letters')],
		},
	],
})

/** Panels that answer the same questions over time. `step` is the distance between two bars. */
export const questions = (scope: Scope, step: Scope): PanelGroup => ({
	title: 'The five questions, by service',
	panels: [
		{
			title: 'How many calls are retried?',
			description: 'Share of calls with at least one retry.',
			kind: 'lines',
			unit: 'share',
			queries: [query(share(retriedCalls(scope)))],
		},
		{
			title: 'How many of the retried calls succeed?',
			description: 'Share of the retried calls that succeeded. Near 0 the retries only add load.',
			kind: 'lines',
			unit: 'share',
			queries: [query(share(rescuedCalls(scope)))],
		},
		{
			title: 'Which circuits open, and which fall back from half-open to open?',
			description: 'Changes of state. A circuit that falls back probes a dependency that is still down.',
			kind: 'bars',
			unit: 'count',
			queries: [
				query(circuitsOpened(step, eventsInStep), '{{service}} opened'),
				query(circuitsReopened(step, eventsInStep), '{{service}} half-open to open'),
				query(destinationsOpened(step, eventsInStep), '{{service}} {{destination}} opened'),
				query(destinationsReopened(step, eventsInStep), '{{service}} {{destination}} half-open to open'),
			],
		},
		{
			title: 'How many retries does a call need on average?',
			description: 'Retries divided by calls.',
			kind: 'lines',
			unit: 'count',
			queries: [query(share(retriesPerCall(scope)))],
		},
		{
			title: 'What ends up as a dead letter?',
			description: 'Messages that became dead letters, by destination and cause.',
			kind: 'bars',
			unit: 'count',
			queries: [query(deadLetters(step, eventsInStep), '{{destination}} {{cause}}')],
		},
	],
})
