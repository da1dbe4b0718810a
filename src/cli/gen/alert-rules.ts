/**
 * The alert rules: for the error rate, for each of the five questions, and for the outbox. Ratios require a number of calls, so that one retry at night is not
 * 100 %, and divide by nothing that can be 0. Series of processes that do not exist any more end by themselves, so no rule uses `absent`.
 */
import {
	circuitRejections,
	circuitsReopened,
	deadLetters,
	destinationsReopened,
	failedCalls,
	rescuedCalls,
	retriedCalls,
	retriesPerCall,
	storedDeadLetters,
} from '../../telemetry/queries/five-questions.ts'
import { gauge, ratio, type Scope } from '../../telemetry/queries/promql.ts'
import type { AlertRule } from './alert-rule.ts'
import { type AlertSettings, DEFAULT_SETTINGS } from './alert-settings.ts'
import { burnRateRules } from './burn-rate-rules.ts'
import { inWords, toPrometheusDuration } from './durations.ts'

const over = (window: string): Scope => ({ where: {}, window })
const by = ['destination']

/** The rules, in the order of the runbook. */
export function alertRules(settings: AlertSettings = DEFAULT_SETTINGS): readonly AlertRule[] {
	return [
		errorRateRule(settings),
		...burnRateRules(settings),
		...retryRules(settings),
		...circuitRules(settings),
		...outboxRules(settings),
	]
}

function errorRateRule({ maxErrorRate, minCalls }: AlertSettings): AlertRule {
	const failed = failedCalls(over('10m'))
	return {
		alert: 'YaokiErrorRateHigh',
		expression: [
			`${ratio(failed.part, failed.whole)} > ${maxErrorRate}`,
			`and ${failed.whole} >= ${minCalls}`,
		],
		for: '5m',
		severity: 'warning',
		summary: 'Many calls to {{ $labels.service }} fail',
		description:
			'{{ $value | humanizePercentage }} of the calls to {{ $labels.service }} ({{ $labels.job }}) in the last 10 minutes failed or were rejected.',
	}
}

function retryRules(settings: AlertSettings): readonly AlertRule[] {
	const { maxRetryRate, minRetrySuccess, maxRetriesPerCall, minCalls } = settings
	const recently = over('10m')
	const [retried, rescued, retries] = [
		retriedCalls(recently),
		rescuedCalls(recently),
		retriesPerCall(recently),
	]
	return [
		{
			alert: 'YaokiRetryRateHigh',
			expression: [
				`${ratio(retried.part, retried.whole)} > ${maxRetryRate}`,
				`and ${retried.part} >= ${minCalls}`,
			],
			for: '5m',
			severity: 'warning',
			summary: 'Many calls to {{ $labels.service }} are retried',
			description:
				'{{ $value | humanizePercentage }} of the calls to {{ $labels.service }} ({{ $labels.job }}) in the last 10 minutes needed a retry.',
		},
		{
			alert: 'YaokiRetriesFail',
			expression: [
				`${ratio(rescued.part, rescued.whole)} < ${minRetrySuccess}`,
				`and ${rescued.whole} >= ${minCalls}`,
			],
			for: '5m',
			severity: 'warning',
			summary: 'Retries of calls to {{ $labels.service }} fail',
			description:
				'Only {{ $value | humanizePercentage }} of the retried calls to {{ $labels.service }} ({{ $labels.job }}) in the last 10 minutes succeeded.',
		},
		{
			alert: 'YaokiRetriesPerCallHigh',
			expression: [
				`${ratio(retries.part, retries.whole)} > ${maxRetriesPerCall}`,
				`and ${retries.part} >= ${minCalls}`,
			],
			for: '5m',
			severity: 'warning',
			summary: 'Calls to {{ $labels.service }} need many retries',
			description:
				'A call to {{ $labels.service }} ({{ $labels.job }}) needed {{ $value | printf "%.1f" }} retries on average in the last 10 minutes.',
		},
	]
}

const WHICH_CIRCUIT = '{{ $labels.service }}{{ with $labels.destination }}, destination {{ . }}{{ end }}'

function circuitRules({ openMs, minReopened, isolatedMs }: AlertSettings): readonly AlertRule[] {
	const isolated = gauge({ metric: 'yaoki_circuit_breaker_isolated' }, over(''))
	return [
		{
			alert: 'YaokiCircuitOpen',
			expression: [
				`${gauge({ metric: 'circuit_breaker_state' }, over(''))} > 0`,
				// A breaker has no timer: the circuit of a dependency that is not called any more stays open.
				`and ${circuitRejections(over('5m'))} > 0`,
				`unless ${isolated} > 0`,
				`or ${gauge({ metric: 'yaoki_outbox_circuit_state', by }, over(''))} > 0`,
			],
			for: toPrometheusDuration(openMs),
			severity: 'warning',
			summary: `The circuit of ${WHICH_CIRCUIT} does not close`,
			description: `The circuit of ${WHICH_CIRCUIT} ({{ $labels.job }}) has been open or half-open for ${inWords(openMs)}. Calls are rejected, messages wait.`,
		},
		{
			alert: 'YaokiCircuitReopens',
			expression: [
				`${circuitsReopened(over('15m'))} >= ${minReopened}`,
				`or ${destinationsReopened(over('15m'))} >= ${minReopened}`,
			],
			for: '1m',
			severity: 'warning',
			summary: `The circuit of ${WHICH_CIRCUIT} falls back from half-open to open`,
			description: `Probes of ${WHICH_CIRCUIT} ({{ $labels.job }}) failed {{ $value | printf "%.0f" }} times in the last 15 minutes.`,
		},
		{
			alert: 'YaokiCircuitIsolated',
			expression: [`${isolated} > 0`],
			for: toPrometheusDuration(isolatedMs),
			severity: 'info',
			summary: 'A circuit of {{ $labels.service }} is isolated',
			description: `A circuit of {{ $labels.service }} ({{ $labels.job }}) has been isolated by an operator for ${inWords(isolatedMs)} and rejects all calls.`,
		},
	]
}

function outboxRules({ maxDeadLetters, ageMs, lagMs, withoutRelayMs }: AlertSettings): readonly AlertRule[] {
	const due = gauge({ metric: 'yaoki_outbox_due_messages', by }, over(''))
	const isOld = `${gauge({ metric: 'yaoki_outbox_oldest_age_seconds', by }, over(''))} > ${ageMs / 1_000}`
	const paused = { metric: 'yaoki_outbox_pause_state', by }
	const isPaused = `${gauge(paused, over(''))} > 0`
	const isPausedByOperator = `${gauge({ ...paused, where: { reason: 'operator' } }, over(''))} > 0`
	return [
		{
			alert: 'YaokiDeadLetters',
			expression: [
				`${deadLetters(over('15m'))} > ${maxDeadLetters}`,
				// One alert, not two, if both show it. Their services differ: one is the relay, the other the outbox.
				`or (${storedDeadLetters(over('15m'))}) > ${maxDeadLetters}`,
				`unless on (job, destination) ${deadLetters(over('15m'))} > ${maxDeadLetters}`,
			],
			for: '1m',
			severity: 'critical',
			summary: 'Messages to {{ $labels.destination }} became dead letters',
			description:
				'New dead letters of {{ $labels.destination }} ({{ $labels.job }}) in the last 15 minutes: {{ $value | printf "%.0f" }}{{ with $labels.cause }}, cause: {{ . }}{{ end }}. They are not sent until they are replayed.',
		},
		{
			alert: 'YaokiOutboxAge',
			// Not for a Retry-After: a destination that always asks for a pause gets no message.
			expression: [isOld, `unless ${isPausedByOperator}`],
			for: '5m',
			severity: 'critical',
			summary: 'A message to {{ $labels.destination }} is not delivered',
			description:
				'The oldest message to {{ $labels.destination }} ({{ $labels.job }}) has not been sent for {{ $value | humanizeDuration }}, retries included.',
		},
		{
			alert: 'YaokiOutboxLag',
			expression: [
				`${gauge({ metric: 'yaoki_outbox_oldest_lag_seconds', by }, over(''))} > ${lagMs / 1_000}`,
				`unless ${isPaused}`,
			],
			for: '5m',
			severity: 'warning',
			summary: 'Messages to {{ $labels.destination }} are late',
			description:
				'The oldest due message to {{ $labels.destination }} ({{ $labels.job }}) has been due for {{ $value | humanizeDuration }}: relays are too slow, or none serves it.',
		},
		{
			alert: 'YaokiDestinationPaused',
			expression: [isOld, `and ${isPausedByOperator}`],
			for: '5m',
			severity: 'warning',
			summary: 'Messages wait because {{ $labels.destination }} is paused',
			description:
				'An operator has paused {{ $labels.destination }} ({{ $labels.job }}). Its oldest message has not been sent for {{ $value | humanizeDuration }}.',
		},
		{
			alert: 'YaokiNoRelay',
			expression: [
				`sum by (job, service) (${due}) > 0`,
				`unless ${gauge({ metric: 'yaoki_outbox_relays' }, over(''))} > 0`,
			],
			for: toPrometheusDuration(withoutRelayMs),
			severity: 'critical',
			summary: 'No relay sends the messages of {{ $labels.service }}',
			description:
				'No relay is alive, and messages of {{ $labels.service }} ({{ $labels.job }}) are due: {{ $value | printf "%.0f" }}.',
		},
	]
}
