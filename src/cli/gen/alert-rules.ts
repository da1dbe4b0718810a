/**
 * The alert rules: one for each of the five questions, and for the outbox. Ratios require a number of calls, so that one retry at night is not
 * 100 %, and divide by nothing that can be 0. Series of processes that do not exist any more end by themselves, so no rule uses `absent`.
 */
import {
	circuitRejections,
	circuitsReopened,
	deadLetters,
	destinationsReopened,
	rescuedCalls,
	retriedCalls,
	retriesPerCall,
	storedDeadLetters,
} from '../../telemetry/queries/five-questions.ts'
import { gauge, ratio, type Scope } from '../../telemetry/queries/promql.ts'

export interface AlertRule {
	readonly alert: string
	/** Lines of PromQL. */
	readonly expression: readonly string[]
	/** How long the expression must be true. */
	readonly for: string
	/** `critical`: messages are or will be lost, or late for hours. `warning`: look today. `info`: a reminder. */
	readonly severity: 'critical' | 'warning' | 'info'
	readonly summary: string
	readonly description: string
}

/** Ratios of fewer calls say nothing. */
const MIN_CALLS = 20
const MAX_RETRY_SHARE = 0.1
const MIN_RETRY_SUCCESS = 0.5
const MAX_RETRIES_PER_CALL = 0.5
const MIN_REOPENED = 3
/** The limits of `yaoki outbox check`. */
const MAX_LAG_SECONDS = 300
const MAX_AGE_SECONDS = 3_600

const over = (window: string): Scope => ({ where: {}, window })
const by = ['destination']

/** The rules, in the order of the runbook. */
export function alertRules(): readonly AlertRule[] {
	return [...retryRules(), ...circuitRules(), ...outboxRules()]
}

function retryRules(): readonly AlertRule[] {
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
				`${ratio(retried.part, retried.whole)} > ${MAX_RETRY_SHARE}`,
				`and ${retried.part} >= ${MIN_CALLS}`,
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
				`${ratio(rescued.part, rescued.whole)} < ${MIN_RETRY_SUCCESS}`,
				`and ${rescued.whole} >= ${MIN_CALLS}`,
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
				`${ratio(retries.part, retries.whole)} > ${MAX_RETRIES_PER_CALL}`,
				`and ${retries.part} >= ${MIN_CALLS}`,
			],
			for: '5m',
			severity: 'warning',
			summary: 'Calls to {{ $labels.service }} need many retries',
			description:
				'A call to {{ $labels.service }} ({{ $labels.job }}) needed {{ $value | humanize }} retries on average in the last 10 minutes.',
		},
	]
}

const WHICH_CIRCUIT = '{{ $labels.service }}{{ with $labels.destination }}, destination {{ . }}{{ end }}'

function circuitRules(): readonly AlertRule[] {
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
			for: '5m',
			severity: 'warning',
			summary: `The circuit of ${WHICH_CIRCUIT} does not close`,
			description: `The circuit of ${WHICH_CIRCUIT} ({{ $labels.job }}) has been open or half-open for 5 minutes. Calls are rejected, messages wait.`,
		},
		{
			alert: 'YaokiCircuitReopens',
			expression: [
				`${circuitsReopened(over('15m'))} >= ${MIN_REOPENED}`,
				`or ${destinationsReopened(over('15m'))} >= ${MIN_REOPENED}`,
			],
			for: '1m',
			severity: 'warning',
			summary: `The circuit of ${WHICH_CIRCUIT} falls back from half-open to open`,
			description: `Probes of ${WHICH_CIRCUIT} ({{ $labels.job }}) failed {{ $value | humanize }} times in the last 15 minutes.`,
		},
		{
			alert: 'YaokiCircuitIsolated',
			expression: [`${isolated} > 0`],
			for: '1h',
			severity: 'info',
			summary: 'A circuit of {{ $labels.service }} is isolated',
			description:
				'A circuit of {{ $labels.service }} ({{ $labels.job }}) has been isolated by an operator for an hour and rejects all calls.',
		},
	]
}

function outboxRules(): readonly AlertRule[] {
	const due = gauge({ metric: 'yaoki_outbox_due_messages', by }, over(''))
	const isOld = `${gauge({ metric: 'yaoki_outbox_oldest_age_seconds', by }, over(''))} > ${MAX_AGE_SECONDS}`
	const paused = { metric: 'yaoki_outbox_destination_paused', by }
	const isPaused = `${gauge(paused, over(''))} > 0`
	const isPausedByOperator = `${gauge({ ...paused, where: { reason: 'operator' } }, over(''))} > 0`
	return [
		{
			alert: 'YaokiDeadLetters',
			expression: [
				`${deadLetters(over('15m'))} > 0`,
				// One alert, not two, if both show it. Their services differ: one is the relay, the other the outbox.
				`or (${storedDeadLetters(over('15m'))}) > 0`,
				`unless on (job, destination) ${deadLetters(over('15m'))} > 0`,
			],
			for: '1m',
			severity: 'critical',
			summary: 'Messages to {{ $labels.destination }} became dead letters',
			description:
				'{{ $value | humanize }} messages to {{ $labels.destination }} ({{ $labels.job }}) became dead letters in the last 15 minutes{{ with $labels.cause }}, cause: {{ . }}{{ end }}. They are not sent until they are replayed.',
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
				`${gauge({ metric: 'yaoki_outbox_oldest_lag_seconds', by }, over(''))} > ${MAX_LAG_SECONDS}`,
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
			for: '2m',
			severity: 'critical',
			summary: 'No relay sends the messages of {{ $labels.service }}',
			description:
				'{{ $value | humanize }} messages of {{ $labels.service }} ({{ $labels.job }}) are due, and no relay is alive.',
		},
	]
}
