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
import { bars, lines, type Panel, type PanelGroup, type Thresholds } from './panel.ts'

const totalShare = ({ part, whole }: Share): string => ratio(total(part), total(whole))
const share = ({ part, whole }: Share): string => ratio(part, whole)
const sumOf = (...expressions: readonly string[]): string =>
	expressions.map((expression) => `(${total(expression)} or vector(0))`).join(' + ')

/** A number is a sum over all jobs. */
const number = (
	title: string,
	description: string,
	unit: Panel['unit'],
	thresholds: Thresholds,
	expressions: Readonly<Record<string, string>>,
): Panel => {
	const queries = Object.entries(expressions).map(([legend, expression]) => ({ expression, legend }))
	return { title, description, kind: 'number', unit, thresholds, queries }
}

/** The thresholds of the number that answers each question. */
export type AnswerThresholds = Readonly<
	Record<'retryRate' | 'retrySuccess' | 'circuitsOpened' | 'retriesPerCall' | 'deadLetters', Thresholds>
>

/** One number for each question, over all services and the selected time. */
export const answers = (scope: Scope, thresholds: AnswerThresholds): PanelGroup => ({
	title: 'The five questions, over the selected time',
	panels: [
		number('Retry rate', 'Share of calls with at least one retry.', 'share', thresholds.retryRate, {
			retried: totalShare(retriedCalls(scope)),
		}),
		number(
			'Retry success rate',
			'Share of the retried calls that succeeded.',
			'share',
			thresholds.retrySuccess,
			{ succeeded: totalShare(rescuedCalls(scope)) },
		),
		number(
			'Circuits opened',
			'How often circuits opened, and how often a failed probe opened them again.',
			'count',
			thresholds.circuitsOpened,
			{
				opened: sumOf(circuitsOpened(scope), destinationsOpened(scope)),
				'half-open to open': sumOf(circuitsReopened(scope), destinationsReopened(scope)),
			},
		),
		number('Retries per call', 'Mean number of retries.', 'count', thresholds.retriesPerCall, {
			retries: totalShare(retriesPerCall(scope)),
		}),
		number('Dead letters', 'Messages that became dead letters.', 'count', thresholds.deadLetters, {
			'dead letters': sumOf(deadLetters(scope)),
		}),
	],
})

/** Panels that answer the same questions over time. `step` is the distance between two bars. */
export const questions = (scope: Scope, step: Scope): PanelGroup => ({
	title: 'The five questions, by service',
	panels: [
		lines(
			'How many calls are retried?',
			'Share of calls with at least one retry.',
			'share',
			share(retriedCalls(scope)),
		),
		lines(
			'How many of the retried calls succeed?',
			'Share of the retried calls that succeeded. Near 0 the retries only add load.',
			'share',
			share(rescuedCalls(scope)),
		),
		bars(
			'Which circuits open, and which fall back from half-open to open?',
			'Changes of state. A circuit that falls back probes a dependency that is still down.',
			'count',
			{
				'{{service}} opened': circuitsOpened(step, eventsInStep),
				'{{service}} half-open to open': circuitsReopened(step, eventsInStep),
				'{{service}} {{destination}} opened': destinationsOpened(step, eventsInStep),
				'{{service}} {{destination}} half-open to open': destinationsReopened(step, eventsInStep),
			},
		),
		lines(
			'How many retries does a call need on average?',
			'Retries divided by calls.',
			'count',
			share(retriesPerCall(scope)),
		),
		bars(
			'What ends up as a dead letter?',
			'Messages that became dead letters, by destination and cause.',
			'count',
			{ '{{destination}} {{cause}}': deadLetters(step, eventsInStep) },
		),
	],
})
